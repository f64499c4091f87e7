"""What every package stands on: settings, database, HTTP, passwords, limits, audit, mail, tasks."""
