"""Codes by mail."""
