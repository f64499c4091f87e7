"""Tokens made and read with secrets of a test's choice."""

from authsite.oauth.tokens import format
from authsite.platform.crypto.keys import Keys


class TokenCodec:
    """The functions of `authsite.oauth.tokens.format` with the keys of ``secrets``."""

    def __init__(self, secrets):
        self.keys = Keys(secrets)

    def encode(self, kind, family_id, generation, expires):
        return format.encode(self.keys, kind, format.Token(family_id, generation, expires))

    def decode(self, kind, text, now):
        return format.decode(self.keys, kind, text, now)

    def encode_personal(self, token_id, expires):
        return format.encode_personal(self.keys, format.PersonalTokenValues(token_id, expires))

    def decode_bearer(self, text, now):
        return format.decode_bearer(self.keys, text, now)
