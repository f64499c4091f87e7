"""Passkeys (Web Authentication Level 3): alone, or as a second factor."""
