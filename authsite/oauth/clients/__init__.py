"""Clients: what is registered about an application, its secrets, redirect URIs and groups."""
