"""Users, identities, clients and groups from a file of another ``authsite export``."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from authsite.oauth.clients import redirect_uris
from authsite.oauth.clients.fields import ALGORITHMS, CLAIMS, CONSENT, MAX_LIFETIME, PKCE
from authsite.oauth.grants.table import GRANTS
from authsite.oauth.models import (
    CLIENT_TYPES,
    CODE_TYPES,
    JWT,
    MAX_URIS,
    OPAQUE,
    SERVER,
    UNVERIFIED_TYPES,
)
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import is_file_name

from .rows import (
    ClientDraft,
    ClientUriDraft,
    CodeDraft,
    FactorDraft,
    Fault,
    FileSource,
    GroupDraft,
    IdentityDraft,
    Lines,
    MembershipDraft,
    PasskeyDraft,
    ResourceDraft,
    Row,
    SourceUnusable,
    TotpDraft,
    UserDraft,
    base32,
    base64url,
    flag,
    moment,
    number,
    readable,
    required,
    text,
)

# The types of the lines.
USERS, CLIENTS, IDENTITIES = "user", "client", "identity"
GROUPS, MEMBERSHIPS = "group", "membership"
CLIENT_URIS, RESOURCES = "client_uri", "resource"
SYSTEM = "authsite"
_TAIL = 4096  # bytes; the last line is shorter


class ExportSource(FileSource):
    """An export; its tables are the types of the lines. Raises `SourceUnusable`."""

    def __init__(self, source: str) -> None:
        if "://" in source:  # with a password perhaps, which no message has
            raise SourceUnusable("give a file of `authsite export`, and no URL")
        path = Path(source)
        super().__init__(path)
        if not path.is_file():
            raise SourceUnusable(
                f"{path}: there is no such file; give one that `authsite export` has written"
            )
        with readable(path), path.open("rb") as file:
            first = file.read(_TAIL).partition(b"\n")[0]
            file.seek(max(0, path.stat().st_size - _TAIL), os.SEEK_SET)
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
        if _type(first) != "export":
            raise SourceUnusable(
                f"{path} is not a file of `authsite export`: give one that this command has written"
            )
        if _type(last) != "end":
            raise SourceUnusable(f"{path} is incomplete: run `authsite export` again")

    def has(self, _table: str) -> bool:
        """An export has all tables, perhaps without rows."""
        return True

    def rows(self, table: str) -> Iterator[Row]:
        """The lines of the type ``table``."""
        with Lines(self._path) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):
                    values = None
                if not isinstance(values, dict):
                    yield Row(number, {}, lines.read, "is not a JSON object")
                elif values.get("type") == table:
                    yield Row(number, values, lines.read)


def _type(line: bytes) -> object:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found.get("type") if isinstance(found, dict) else None


def has_secrets(source: str) -> bool:
    """Whether the export has second factors, so that those of its users can be asked for."""
    try:
        with Path(source).open("rb") as file:
            head = json.loads(file.read(_TAIL).partition(b"\n")[0])
    except (OSError, ValueError, RecursionError):
        return False  # `ExportSource` says why
    return isinstance(head, dict) and head.get("secrets") is True


def user(row: Mapping[str, object], *, secrets: bool = True) -> UserDraft:
    """A line of the type ``user``; ``secrets``: of a file with second factors. Raises `Fault`."""
    factors = FactorDraft(
        moment(row, "second_factor_at"),
        moment(row, "factors_since"),
        flag(row, "passkey_after_password"),
    )
    password = row.get("password")
    confirmed_at, disabled_at = moment(row, "email_verified_at"), moment(row, "disabled_at")
    return UserDraft(
        source_id=required(row, "id"),
        login_names={kind: text(row, kind) for kind in ("email", "username", "phone")},
        name=text(row, "name"),
        password=text(password, "hash") if isinstance(password, dict) else None,
        confirmed_at=confirmed_at,
        disabled=disabled_at is not None,
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        disabled_at=disabled_at,
        delete_at=moment(row, "delete_at"),
        language=text(row, "language"),
        terms=(text(row, "terms_url"), moment(row, "terms_accepted_at")),
        factors=factors if secrets else None,
        last_sign_in_at=moment(row, "last_sign_in_at"),
    )


def identity(row: Mapping[str, object]) -> IdentityDraft:
    """A line of the type ``identity``. Raises `Fault`."""
    return IdentityDraft(
        source_id=required(row, "id"),
        user_id=required(row, "user_id"),
        provider=required(row, "provider"),
        issuer=required(row, "issuer"),
        subject=required(row, "subject"),
        email=text(row, "email"),
        trusted=flag(row, "trusted"),
        created_at=moment(row, "created_at"),
        used_at=moment(row, "used_at"),
    )


def client(row: Mapping[str, object]) -> ClientDraft:
    """A line of the type ``client``. Raises `Fault`."""
    listed = row.get("secrets") or []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise Fault("secrets", "is not a list of objects")
    secrets = [text(each, "hash") for each in listed]
    type_ = required(row, "client_type")
    if type_ in UNVERIFIED_TYPES:
        raise Fault("client_type", "is one that registers itself: it comes again")
    if type_ not in CLIENT_TYPES:
        raise Fault("client_type", f"is none of {', '.join(CLIENT_TYPES)}")
    disabled_at = moment(row, "disabled_at")
    return ClientDraft(
        source_id=required(row, "id"),
        name=required(row, "name"),
        type=type_,
        secret=secrets[0] if secrets else None,
        scopes=(text(row, "scope") or "", text(row, "default_scope") or ""),
        disabled=disabled_at is not None,
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
        previous_secret=secrets[1] if len(secrets) > 1 else None,
        disabled_at=disabled_at,
        grant_types=_grant_types(row, type_),
        columns=_client_columns(row, type_),
    )


def client_uri(row: Mapping[str, object]) -> ClientUriDraft:
    """A line of the type ``client_uri``. Raises `Fault`."""
    return ClientUriDraft(
        client_id=required(row, "client_id"),
        kind=required(row, "kind"),
        uri=required(row, "uri"),
        position=number(row, "position", MAX_URIS) or 0,
    )


def resource(row: Mapping[str, object]) -> ResourceDraft:
    """A line of the type ``resource``, which gets another ``id``. Raises `Fault`."""
    return ResourceDraft(
        uri=required(row, "uri"),
        scopes=text(row, "scopes") or "",
        client_id=text(row, "client_id"),
        tokens=_one_of(row, "tokens", (OPAQUE, JWT)),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )


def group(row: Mapping[str, object]) -> GroupDraft:
    """A line of the type ``group``. Raises `Fault`."""
    return GroupDraft(
        name=required(row, "name"),
        title=required(row, "title"),
        scopes=text(row, "scopes") or "",
        require_acr=text(row, "require_acr"),
        created_at=moment(row, "created_at"),
        updated_at=moment(row, "updated_at"),
    )


def membership(row: Mapping[str, object]) -> MembershipDraft:
    """A line of the type ``membership``. Raises `Fault`."""
    return MembershipDraft(
        required(row, "user_id"), required(row, "group_name"), moment(row, "created_at")
    )


def _client_columns(row: Mapping[str, object], client_type: str) -> dict[str, object]:
    """What a client of another authsite has in addition. Raises `Fault`."""
    found: dict[str, object] = {
        "first_party": flag(row, "first_party"),
        "no_consent": _one_of(row, "consent", CONSENT) == "none",
        "pkce_optional": _one_of(row, "pkce", PKCE) == "optional",
        "id_token_lifetime": number(row, "id_token_lifetime", MAX_LIFETIME) or None,
        "claims_in_id_token": _one_of(row, "id_token_claims", CLAIMS) == "both",
        "require_confirmed": flag(row, "require_confirmed", default=True),
    }
    if found["pkce_optional"] and client_type != SERVER:
        raise Fault("pkce", f"is optional for the type {SERVER} alone")
    chosen = _one_of(row, "id_token_signed_response_alg", ALGORITHMS)
    found["id_token_alg"] = None if chosen == ALGORITHMS[0] else chosen
    for name in ("require_group", "default_resource", "logo", "policy_uri", "tos_uri"):
        found[name] = text(row, name)
    for name in ("policy_uri", "tos_uri"):
        try:
            redirect_uris.web_uri(str(found[name] or "https://localhost"))
        except ValueError as error:
            raise Fault(name, str(error)) from None
    if found["logo"] and not is_file_name(str(found["logo"])):
        raise Fault("logo", "is not the name of a file")
    return found


def _one_of(row: Mapping[str, object], name: str, words: Sequence[str]) -> str:
    chosen = text(row, name) or words[0]
    if chosen not in words:
        raise Fault(name, f"is none of {', '.join(words)}")
    return chosen


def _grant_types(row: Mapping[str, object], client_type: str) -> str | None:
    """The grant types of a client that does not have those of its type. Raises `Fault`.

    A client that uses codes has no others: its tokens would count as those of a first party.
    """
    if row.get("grant_types") is None:
        return None
    listed = (text(row, "grant_types") or "").split()
    if unknown := sorted(set(listed) - set(GRANTS)):
        names = ", ".join(unknown)
        raise Fault("grant_types", f"has {names}; this version knows {', '.join(GRANTS)}")
    own = CLIENT_TYPES[client_type]
    if client_type in CODE_TYPES and not set(listed) <= set(own):
        raise Fault("grant_types", f"of the type {client_type} are {', '.join(own)} at most")
    return " ".join(listed)


# Second factors from a file of ``authsite export --secrets``.


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
