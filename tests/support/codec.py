"""Tokens made and read with secrets of a test's choice."""

from authsite.oauth import tokens
from authsite.platform.crypto.keys import Keys


class TokenCodec:
    """The functions of `authsite.oauth.tokens` with the keys of ``secrets``."""

    def __init__(self, secrets):
        self.keys = Keys(secrets)

    def encode(self, kind, family_id, generation, expires):
        return tokens.encode(self.keys, kind, tokens.Token(family_id, generation, expires))

    def decode(self, kind, text, now):
        return tokens.decode(self.keys, kind, text, now)

    def encode_personal(self, token_id, expires):
        return tokens.encode_personal(self.keys, tokens.PersonalTokenValues(token_id, expires))

    def decode_bearer(self, text, now):
        return tokens.decode_bearer(self.keys, text, now)
