"""The device grant: a program or device without a browser (RFC 8628)."""
