"""Tokens: their formats and families; issue, refresh, check, introspect and revoke them."""
