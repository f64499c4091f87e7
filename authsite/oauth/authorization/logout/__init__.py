"""The end session endpoint: an application signs its user out here (RP-Initiated Logout 1.0)."""
