"""Login names, the password check, notices and reauthentication."""
