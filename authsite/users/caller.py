"""The caller of a guarded route."""

from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from authsite.platform.request_state import Request

from .account import AAL2, Account, SignedInUser, acr_of, as_json, shown_amr
from .errors import UserRequired
from .groups import labels


@dataclass(frozen=True, slots=True)
class CallerUser:
    """The user of a request, with the fields of the API's user object; all values fit into JSON.

    Times are RFC 3339 text in UTC.
    """

    id: str
    email: str
    username: str | None
    phone: str | None
    name: str | None
    confirmed: bool
    email_verified_at: str | None
    created_at: str
    updated_at: str

    def __json__(self, request: object) -> dict[str, object]:
        """The value for Pyramid's JSON renderer."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Caller:
    """The credential of a request.

    Host applications use ``guard``, ``user``, ``email``, ``email_verified``, ``scope``,
    ``client_id``, ``client_name``, ``session_id``, ``groups``, ``acr``, ``amr``, ``auth_time`` and
    `require_user` (docs/guards.md), whose values fit into JSON. The other attributes are for
    authsite's own views.
    """

    guard: str
    """``"api"`` or ``"web"``."""
    account: Account | None
    scope: tuple[str, ...] = ()
    """The scopes of the token; empty for a browser session."""
    token: object = None
    """What the text of the bearer token says, for the guard that read it."""
    family_uuid: UUID | None = None
    """The token family of an access token."""
    personal_token: bool = False
    """Whether the token is a personal access token: of no client, and of no session."""
    client_uuid: UUID | None = None
    client_url: str | None = None
    """The URL that is the id of a client which a document describes; None for all others."""
    client_name: str | None = None
    """The name of the client that the token was issued to; None for a browser session."""
    browser_uuid: UUID | None = None
    """The id of the browser session; None for a token."""
    proved_by: tuple[str, ...] = ()
    """How the user proved to be who they are, at this sign-in, in all our values; see ``amr``."""
    auth_at: datetime | None = None
    """When the user last proved to be who they are, at this sign-in; see ``auth_time``."""
    third_party: bool | None = None
    """Whether the token is one of an application of a third party, which opens only what names a
    scope that the token has. False for a first-party application that uses codes; None for a client
    that logs a user in with a password, for one that acts for itself, for a personal access token,
    and for a browser session."""
    audience: str | None = None
    """The resource that the token is for (RFC 8707); it opens nothing else. None without one."""
    expires: float = 0.0
    """When the access token or browser session ends by itself, in Unix seconds."""
    login_names: tuple[str, ...] = ()
    """The kinds of login name that are enabled; ``user`` has no others."""
    admin_acr: str = AAL2
    """The level at which the reserved groups count: the setting `admin-acr`."""

    @property
    def user(self) -> CallerUser | None:
        """The user this request acts for; None for a client that acts for itself."""
        return CallerUser(**as_json(self.account, self.login_names)) if self.account else None

    @property
    def email(self) -> str | None:
        """The user's e-mail address; None for a client that acts for itself.

        Anyone can register with an address of another person: unless ``email_verified``, it says
        nothing about who the user is.
        """
        return self.account.email if self.account else None

    @property
    def email_verified(self) -> bool:
        """Whether the user has confirmed the address; False for a client that acts for itself."""
        return self.account is not None and self.account.confirmed

    @property
    def client_id(self) -> str | None:
        """The id of the client that the token was issued to; None for a browser session."""
        if self.client_url is not None:
            return self.client_url
        return str(self.client_uuid) if self.client_uuid else None

    @property
    def session_id(self) -> str | None:
        """The id under which `/v1/user/sessions` lists the token family or browser session.

        None for a personal access token, which is of no session.
        """
        found = self.session_uuid
        return str(found) if found else None

    @property
    def session_uuid(self) -> UUID | None:
        """The session that the request belongs to: a token family or a browser session."""
        return self.family_uuid or self.browser_uuid

    @property
    def acr(self) -> str | None:
        """The level of the sign-in: ``"aal1"``, ``"aal2"`` or ``"phr"``; see `account.acr_of`.

        None for a client that acts for itself, and for a personal access token.
        """
        return acr_of(self.proved_by) if self.proved_by else None

    @property
    def amr(self) -> tuple[str, ...]:
        """How the user proved to be who they are, at this sign-in, in the values of RFC 8176.

        Empty for a client that acts for itself, for a personal access token, and for proofs that
        have no value there.
        """
        return shown_amr(self.proved_by)

    @property
    def auth_time(self) -> int | None:
        """When the user last proved to be who they are, in seconds since 1970.

        None for a client that acts for itself, and for a personal access token.
        """
        return int(self.auth_at.timestamp()) if self.auth_at else None

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the user's groups that count in this request; see `labels.shown`.

        Empty for a client that acts for itself.
        """
        if self.account is None or not self.account.labels:  # most users are in no group
            return ()
        return labels.shown(self.account.labels, self.acr, self.admin_acr)

    def require_user(self) -> CallerUser:
        """The user this request acts for; raises `UserRequired` if it acts for none."""
        user = self.user
        if user is None:
            raise UserRequired
        return user

    def acting_user(self) -> Account:
        """The account this request acts for; raises `UserRequired` if it acts for none."""
        if self.account is None:
            raise UserRequired
        return self.account

    def signed_in_user(self) -> SignedInUser:
        """The account and its session; raises `UserRequired` without a user."""
        return SignedInUser(
            self.acting_user(),
            self.family_uuid,
            self.browser_uuid,
            self.proved_by,
            self.auth_at,
        )

    def __json__(self, request: object) -> dict[str, object]:
        """The value for Pyramid's JSON renderer: the documented attributes."""
        return {
            "guard": self.guard,
            "user": self.user,
            "email": self.email,
            "email_verified": self.email_verified,
            "scope": list(self.scope),
            "client_id": self.client_id,
            "client_name": self.client_name,
            "session_id": self.session_id,
            "groups": list(self.groups),
            "acr": self.acr,
            "amr": list(self.amr),
            "auth_time": self.auth_time,
        }


def caller_of(request: Request) -> Caller:
    """The caller; for views whose route has a guard."""
    caller: Caller | None = request.authsite.caller
    if caller is None:
        raise RuntimeError("the guard of the route has not run")
    return caller


def signed_in(request: Request) -> Caller | None:
    """The user of the browser's session, or None; for pages without a guard."""
    caller: Caller | None = request.authsite.signed_in
    return caller
