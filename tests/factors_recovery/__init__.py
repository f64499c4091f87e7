"""Factors at the recovery of an account, and what administrators do with them."""
