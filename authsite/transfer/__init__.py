"""Move users, clients and tokens in and out: `authsite import`, `authsite export`."""
