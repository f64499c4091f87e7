"""Consents: what a user has allowed an application to do."""
