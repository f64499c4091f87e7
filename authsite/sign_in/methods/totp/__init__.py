"""One-time passwords of an authenticator app (RFC 6238)."""
