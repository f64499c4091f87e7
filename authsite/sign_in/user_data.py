"""What the tables of second factors have of a user, and their lines in an export with secrets."""

from base64 import urlsafe_b64encode
from typing import Any, Literal

from typing_extensions import TypedDict

from authsite.platform.user_data import Id, Line, Moment, UserData, exported_line

from .factors.state import RememberedBrowser
from .methods.passkeys import stored as passkeys
from .methods.recovery_codes import service as recovery_codes
from .methods.totp.models import TotpFactor
from .pending import PendingLogin


@exported_line
class Totp(TypedDict):
    type: Literal["totp"]
    """An authenticator app (RFC 6238)."""
    id: Id
    user_id: Id
    secret: str | None
    """In base32; null: no sealing key opens it."""
    digits: int
    period: int
    """In seconds."""
    algorithm: str
    last_step: int
    """The newest time step whose code was used."""
    failures: int
    """Wrong codes since the last right one."""
    created_at: Moment
    used_at: Moment | None


@exported_line
class Passkey(TypedDict):
    type: Literal["passkey"]
    id: Id
    user_id: Id
    credential_id: str
    """In base64url."""
    public_key: str
    """A COSE key in base64url."""
    user_handle: str
    """In base64url; one for all passkeys of a user."""
    rp_id: str
    """The site that it belongs to: it works nowhere else."""
    sign_count: int
    aaguid: Id
    transports: str
    backup_eligible: bool
    """Whether it may be synced between devices."""
    backed_up: bool
    uv_initialized: bool
    """Whether it has verified its user, when it was registered or beside another proof; a line
    without it is imported as false."""
    name: str
    created_at: Moment
    used_at: Moment | None


@exported_line
class RecoveryCode(TypedDict):
    type: Literal["recovery_code"]
    id: Id
    user_id: Id
    mac: str
    """What recognizes the code, with the same sealing key alone."""
    created_at: Moment
    used_at: Moment | None


def _with_text(line: dict[str, Any]) -> None:
    line["public_key"] = urlsafe_b64encode(bytes(line["public_key"])).decode().rstrip("=")


USER_DATA = (
    UserData("pending_logins", PendingLogin),
    UserData("remembered_browsers", RememberedBrowser, "address agent created_at expires_at"),
    # Never the secret, the public key, or what recognizes a recovery code.
    UserData(
        "totp_factors",
        TotpFactor,
        "id digits period algorithm created_at used_at",
        line=Line("totp", Totp, secret=True, sealed="secret"),
    ),
    UserData(
        "passkeys",
        passkeys.Passkey,
        "id name rp_id aaguid transports backup_eligible backed_up uv_initialized created_at "
        "used_at",
        line=Line("passkeys", Passkey, complete=_with_text, secret=True),
    ),
    UserData(
        "recovery_codes",
        recovery_codes.RecoveryCode,
        "created_at used_at",
        line=Line("recovery_codes", RecoveryCode, secret=True),
    ),
)
