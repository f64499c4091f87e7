"""The names of the ways to give a second proof, as in the setting `factors` and in the API."""

from typing import Final

TOTP: Final = "totp"
PASSKEY: Final = "passkey"
RECOVERY_CODE: Final = "recovery_code"
OF_THE_USER: Final = (TOTP, PASSKEY, RECOVERY_CODE)
"""Those of rows that belong to a user, which a recovery may remove."""
MAIL_CODE: Final = "email"
"""A code by mail: it proves the mailbox, and does not count as a second factor."""
