"""Signing keys: their table, the key set, and their rotation."""
