"""Users of a Django project (``django.contrib.auth``)."""

import json
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings
from authsite.platform.settings.rules import relying_party
from authsite.sign_in.identifiers import normalized_key

from .rows import (
    Fault,
    PasskeyDraft,
    Source,
    TotpDraft,
    UserDraft,
    base32,
    base64url,
    flag,
    moment,
    required,
    text,
)
from .temporary import new_table
from .users import ReadDraft

USERS = "auth_user"
ADDRESSES = "account_emailaddress"


def user_reader(users_table: str, source: Source) -> ReadDraft:
    """What reads a row of ``users_table``, with what the source says of addresses.

    Django itself does not know which ones are confirmed. django-allauth does, in a table that is
    read here: there ``verified`` decides, and an address without a row is not confirmed.
    """
    schema = users_table.rpartition(".")[0]
    names = (f"{schema}.{ADDRESSES}" if schema else ADDRESSES, ADDRESSES)
    table = next((name for name in names if source.has(name)), None)
    return partial(user, _Verified(source, table) if table else None)


class _Verified:
    """The verified addresses of users, in a temporary file."""

    def __init__(self, source: Source, table: str) -> None:
        self._file = new_table("addresses (user TEXT, key TEXT, PRIMARY KEY (user, key))")
        for row in source.rows(table):
            try:
                if row.fault is None and flag(row.values, "verified"):
                    address = required(row.values, "user_id"), _key(required(row.values, "email"))
                    self._file.execute("INSERT OR IGNORE INTO addresses VALUES (?, ?)", address)
            except Fault:
                continue  # an address that cannot be read confirms nothing

    def has(self, user_id: str, email: str | None) -> bool:
        """Whether the user has confirmed the address."""
        query = "SELECT 1 FROM addresses WHERE user = ? AND key = ?"
        return bool(email and self._file.execute(query, (user_id, _key(email))).fetchone())


def _key(email: str) -> str:
    return normalized_key("email", email)


def user(verified: _Verified | None, row: Mapping[str, object]) -> UserDraft:
    """A row of ``auth_user``, or of a user model with its columns. Raises `Fault`."""
    names = (text(row, "first_name"), text(row, "last_name"))
    id_, email = required(row, "id"), text(row, "email")
    return UserDraft(
        source_id=id_,
        login_names={"email": email, **{kind: text(row, kind) for kind in ("username", "phone")}},
        name=text(row, "name") or " ".join(filter(None, names)) or None,
        password=_password(text(row, "password")),
        confirmed=verified.has(id_, email) if verified else None,
        disabled=not flag(row, "is_active", default=True),
        created_at=moment(row, "date_joined"),
    )


def _password(stored: str | None) -> str | None:
    """Without an unusable password, which Django marks with an exclamation mark."""
    return None if stored is None or stored.startswith("!") else stored


# Second factors and passkeys of ``allauth.mfa`` (django-allauth), with the users of Django.
#
# Each row of ``mfa_authenticator`` is one; ``data`` is a JSON object:
#
# - ``totp``: ``secret`` in base32, unless the site's adapter encrypts it;
# - ``webauthn``: ``name``, and ``credential``, the answer of the browser at the registration;
# - ``recovery_codes``: a seed, which is not imported.


TABLE = "mfa_authenticator"
MAX_NAME = 64  # characters
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def factor(settings: Settings, row: Mapping[str, object]) -> TotpDraft | PasskeyDraft:
    """A row of ``mfa_authenticator``. Raises `Fault`.

    A passkey works for one RP ID alone, so those of another one are refused.
    """
    kind = required(row, "type")
    if kind == "totp":
        return _totp(row)
    if kind == "webauthn":
        return _passkey(settings, row)
    if kind == "recovery_codes":
        raise Fault("type", "recovery codes are not imported; their users can make new ones")
    raise Fault("type", f"is none of totp, webauthn, recovery_codes: {kind}")


def user_handle(user_id: str) -> bytes:
    """What allauth gives an authenticator as the id of the user (``user_pk_to_url_str``)."""
    if user_id.isascii() and user_id.isdigit():
        return _base36(int(user_id)).encode()
    as_uuid = as_id(user_id.lower()) or (
        uuid.UUID(user_id) if len(user_id) == 32 and _is_hex(user_id) else None
    )
    return (as_uuid.hex if as_uuid else user_id).encode()


def _totp(row: Mapping[str, object]) -> TotpDraft:
    secret = _data(row).get("secret")
    if not isinstance(secret, str):
        raise Fault("data", "has no secret")
    return TotpDraft(
        source_id=required(row, "id"),
        user_id=required(row, "user_id"),
        secret=base32(secret),
        created_at=moment(row, "created_at"),
        used_at=moment(row, "last_used_at"),
    )


def _passkey(settings: Settings, row: Mapping[str, object]) -> PasskeyDraft:
    from webauthn.helpers import parse_attestation_object

    party = relying_party(settings)
    if party is None:
        raise Fault("type", "passkeys are off here: set passkey-rp-id")
    data = _data(row)
    response = (data.get("credential") or {}).get("response") or {}
    try:
        raw = base64url("data", response["attestationObject"])
        found = parse_attestation_object(raw).auth_data
    except Fault:
        raise
    except Exception:  # the library raises many kinds for what is malformed
        raise Fault("data", "has no credential that can be read") from None
    credential = found.attested_credential_data
    if credential is None:
        raise Fault("data", "has no credential that can be read")
    if not compare_digest(found.rp_id_hash, sha256(party.id.encode()).digest()):
        raise Fault("data", "the passkey is of another RP ID than passkey-rp-id")
    user_id = required(row, "user_id")
    transports = response.get("transports")
    names = [each for each in transports or () if isinstance(each, str) and each.isalpha()]
    return PasskeyDraft(
        source_id=required(row, "id"),
        user_id=user_id,
        credential_id=_text(credential.credential_id),
        public_key=credential.credential_public_key,
        user_handle=_text(user_handle(user_id)),
        rp_id=party.id,
        sign_count=found.sign_count,
        aaguid=uuid.UUID(bytes=_aaguid(credential.aaguid)),
        transports=" ".join(names)[:200],
        backup_eligible=found.flags.be,
        backed_up=found.flags.bs,
        uv_initialized=False,  # no policy of the source has required it
        name=str(data.get("name") or "Passkey")[:MAX_NAME],
        created_at=moment(row, "created_at"),
        used_at=moment(row, "last_used_at"),
    )


def _aaguid(given: bytes) -> bytes:
    return given if len(given) == 16 else bytes(16)


def _data(row: Mapping[str, object]) -> dict[str, Any]:
    """The object in ``data``, which a source may have as text. Raises `Fault`."""
    data = row.get("data")
    if isinstance(data, bytes):
        data = data.decode(errors="replace")
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError):
            raise Fault("data", "is not JSON: it may be encrypted") from None
    if not isinstance(data, dict):
        raise Fault("data", "is not a JSON object")
    return data


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _base36(number: int) -> str:
    digits = ""
    while number >= 36:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return _DIGITS[number] + digits


def _is_hex(text: str) -> bool:
    return set(text.lower()) <= set("0123456789abcdef")
