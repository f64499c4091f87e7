"""Second factors from a file of ``authsite export --secrets``."""

from collections.abc import Mapping

from authsite.platform.runtime.ids import as_id

from .row_values import (
    CodeDraft,
    Fault,
    PasskeyDraft,
    TotpDraft,
    base32,
    base64url,
    flag,
    moment,
    number,
    required,
    text,
)

# The types of the lines.
TOTP, PASSKEYS, RECOVERY_CODES = "totp", "passkey", "recovery_code"


def totp(row: Mapping[str, object]) -> TotpDraft:
    """A line of the type ``totp``. Raises `Fault`."""
    secret = text(row, "secret")
    if secret is None:
        raise Fault("secret", "could not be opened at the export: no sealing key has sealed it")
    return TotpDraft(
        source_id=required(row, "id"),
        user_id=required(row, "user_id"),
        secret=base32(secret),
        digits=number(row, "digits", 8) or 0,
        period=number(row, "period", 3600) or 0,
        algorithm=required(row, "algorithm"),
        last_step=number(row, "last_step", 2**40) or 0,
        failures=number(row, "failures", 2**31 - 1) or 0,
        created_at=moment(row, "created_at"),
        used_at=moment(row, "used_at"),
    )


def passkey(row: Mapping[str, object]) -> PasskeyDraft:
    """A line of the type ``passkey``. Raises `Fault`."""
    aaguid = as_id(required(row, "aaguid").lower())
    if aaguid is None:
        raise Fault("aaguid", "is not a UUID")
    return PasskeyDraft(
        source_id=required(row, "id"),
        user_id=required(row, "user_id"),
        credential_id=required(row, "credential_id"),
        public_key=base64url("public_key", required(row, "public_key")),
        user_handle=required(row, "user_handle"),
        rp_id=required(row, "rp_id"),
        sign_count=number(row, "sign_count", 2**32) or 0,
        aaguid=aaguid,
        transports=text(row, "transports") or "",
        backup_eligible=flag(row, "backup_eligible"),
        backed_up=flag(row, "backed_up"),
        uv_initialized=row.get("uv_initialized") is not None and flag(row, "uv_initialized"),
        name=required(row, "name"),
        created_at=moment(row, "created_at"),
        used_at=moment(row, "used_at"),
    )


def recovery_code(row: Mapping[str, object]) -> CodeDraft:
    """A line of the type ``recovery_code``. Raises `Fault`."""
    return CodeDraft(
        source_id=required(row, "id"),
        user_id=required(row, "user_id"),
        mac=required(row, "mac"),
        created_at=moment(row, "created_at"),
        used_at=moment(row, "used_at"),
    )
