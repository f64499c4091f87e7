"""The text of an authorization code: its sealed id, with the prefix ``ac_``."""

from authsite.platform.crypto.sealed import SealedId

CODE = SealedId("ac_", "authorization code")
