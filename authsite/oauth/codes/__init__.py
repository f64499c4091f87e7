"""Authorization codes: store one, and redeem it once (RFC 6749, section 4.1)."""
