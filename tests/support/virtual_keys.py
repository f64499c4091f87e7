"""Chromium's virtual authenticator, for tests of passkeys in a browser."""

from base64 import b64encode

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.support.authenticator import bytes_of


class VirtualKeys:
    """The virtual authenticator of a page (Web Authentication Level 3, section 11).

    ``verifies``: whether it can tell who its user is; ``verified``: whether it does. Until
    `answer` it waits for its user's touch; ``touched``: it is touched at once.
    """

    def __init__(self, page, *, verifies=True, verified=True, touched=False):
        self.session = page.context.new_cdp_session(page)
        self.session.send("WebAuthn.enable", {"enableUI": False})
        options = {
            "protocol": "ctap2",
            "ctap2Version": "ctap2_1",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": verifies,
            "isUserVerified": verifies and verified,
            "automaticPresenceSimulation": touched,
        }
        added = self.session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self.id = {"authenticatorId": added["authenticatorId"]}

    def add(self, own):
        """Let it have this passkey of a site on this machine."""
        private = own.key.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        encoded = {
            "credentialId": own.id, "privateKey": private, "userHandle": bytes_of(own.handle),
        }  # fmt: skip
        credential = {name: b64encode(value).decode() for name, value in encoded.items()}
        credential |= {"isResidentCredential": True, "rpId": "localhost", "signCount": 1}
        self.session.send("WebAuthn.addCredential", {**self.id, "credential": credential})

    def answer(self, *, present):
        """Touch it from now on, or no longer."""
        given = {**self.id, "enabled": present}
        self.session.send("WebAuthn.setAutomaticPresenceSimulation", given)

    def held(self):
        """The passkeys that it has, as the protocol shows them."""
        return self.session.send("WebAuthn.getCredentials", self.id)["credentials"]
