"""Names of passkeys: who keeps it, by its AAGUID, or else the browser and system.

The table has those that many users have (https://github.com/passkeydeveloper/
passkey-authenticator-aaguids). An AAGUID proves nothing here: it is asked for without attestation.
"""

from uuid import UUID

from authsite.platform.http.errors import FieldError, ValidationFailed
from authsite.platform.i18n import _
from authsite.sign_in.fields import read_line
from authsite.users.agents import describe

MAX_NAME = 64  # characters

KEEPERS: dict[str, str] = {
    "08987058-cadc-4b81-b6e1-30de50dcbe96": "Windows Hello",
    "0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6": "Keeper",
    "50726f74-6f6e-5061-7373-50726f746f6e": "Proton Pass",
    "531126d6-e717-415c-9320-3d9aa6981239": "Dashlane",
    "53414d53-554e-4700-0000-000000000000": "Samsung Pass",
    "6028b017-b1d4-4c02-b4b3-afcdafc96bb2": "Windows Hello",
    "771b48fd-d3d4-4f74-9232-fc157ab0507a": "Edge on macOS",
    "891494da-2c90-4d31-a9cd-4eab0aed1309": "Sésame",
    "9ddd1817-af5a-4672-a2b9-3e3dd95000a9": "Windows Hello",
    "adce0002-35bc-c60a-648b-0b25f1f05503": "Chrome on macOS",
    "b5397666-4885-aa6b-cebf-e52262a439a2": "Chromium",
    "b84e4048-15dc-4dd0-8640-f4f60813c8af": "NordPass",
    "bada5566-a7aa-401f-bd96-45619a55120d": "1Password",
    "d548826e-79b4-db40-a3d8-11116f7e8349": "Bitwarden",
    "dd4ec289-e01d-41c9-bb89-70fa845d4bf2": "iCloud Keychain",
    "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4": "Google Password Manager",
    "f3809540-7f14-49c1-a8b3-8f813b225541": "Enpass",
    "fbfc3007-154e-4ecc-8c0b-6e020557d7bd": "iCloud Keychain",
    "fdb141b2-5d84-443e-8a35-4698c205a502": "KeePassXC",
}


def chosen(name: str) -> str:
    """What a user calls a passkey, as it is stored.

    Raises `ValidationFailed` for a name without visible text, and for one with line breaks or other
    control characters.
    """
    text, errors = read_line("name", name)
    if text:
        return text[:MAX_NAME].strip()
    message = _("Enter a name for the passkey.")
    raise ValidationFailed(details=errors or [FieldError("required", "name", message)])


def name_of(aaguid: UUID, agent: str | None) -> str:
    """What a new passkey is called; ``agent``: the browser that made it."""
    words = " on ".join(filter(None, describe(agent)))
    return KEEPERS.get(str(aaguid)) or words[:MAX_NAME] or "Passkey"
