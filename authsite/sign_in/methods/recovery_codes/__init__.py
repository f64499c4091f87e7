"""Recovery codes: each is a second factor once."""
