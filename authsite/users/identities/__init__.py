"""The identities of users at other providers: one row for each that is linked to a user."""
