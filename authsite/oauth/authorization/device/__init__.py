"""The page on which a person enters the code of a device, and allows it or not (RFC 8628, 3.3)."""
