"""Export users, clients, token families and the audit trail as JSON Lines, with a schema."""
