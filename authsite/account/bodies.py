"""The bodies of requests and responses of the account API."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Parameters, response_body
from authsite.platform.http.bodies import (
    Body,
    CurrentPassword,
    Email,
    Flag,
    MailCode,
    MaybeEmpty,
    NewPassword,
    Url,
)

Name = Annotated[str, Field(max_length=320)]


class ProfileBody(Body):
    description = "The fields to change. A missing field keeps its value; an empty one removes it."

    name: Annotated[MaybeEmpty | None, Field(examples=["Ann Lee"])] = None
    """The user's name."""
    username: Name | None = None
    """A login name, where usernames are enabled."""
    phone: Name | None = None
    """A phone number to log in with, where they are enabled."""


class ProofBody(Body):
    description = "A proof of the user."

    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""


class EmailBody(Body):
    description = "A new e-mail address."

    email: Email
    """The new address; it takes effect when its link is used."""
    current_password: CurrentPassword = None
    """The user's password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""
    verification_url: Url | None = None
    """The page that the link opens: one of those configured. The first of them by default."""


class PasswordBody(Body):
    description = "A new password."

    current_password: CurrentPassword = None
    """The current password. A user without one confirms with a linked provider instead."""
    mail_code: MailCode = None
    """The code that was mailed for this change, where one is asked for."""
    password: NewPassword
    """The new password."""


class DeleteBody(ProofBody):
    description = "The confirmation of the user who deletes the account."


class ExportBody(ProofBody):
    description = "The confirmation of the user whose data is exported."


_Id = Annotated[str, Field(examples=["5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"])]
_Moment = Annotated[str, Field(examples=["2026-01-31T09:30:00Z"])]


class EndSessionBody(Body):
    description = "What ends with the session. The body may be left out."

    revoke_tokens: Annotated[Flag | None, Field(examples=[False])] = None
    """Whether the personal access tokens that were created in the session are revoked, too: the
    `tokens` of the session in the list. By default `true`."""


class SessionPath(Parameters):
    """Path of one session."""

    id: _Id
    """Its id in the list."""


@response_body("A personal access token that was created in a session.")
class TokenOfSession(TypedDict):
    id: _Id
    """The id for `DELETE /v1/user/tokens/{id}`."""
    name: Annotated[str, Field(examples=["backup script"])]
    """What the token is for."""


@response_body("An active session of the user.")
class SessionAnswer(TypedDict):
    id: _Id
    """The id for `DELETE /v1/user/sessions/{id}`."""
    kind: Annotated[str, Field(examples=["app"])]
    """`browser` (signed in with a browser) or `app` (the tokens of a client)."""
    client: Annotated[str | None, Field(examples=["Web shop"])]
    """The name of the client that holds the tokens."""
    address: Annotated[str | None, Field(examples=["192.0.2.7"])]
    """The IP address that the login came from."""
    agent: Annotated[str | None, Field(examples=["Mozilla/5.0 (X11; Linux) Firefox/140.0"])]
    """The program that logged in, from its `User-Agent`."""
    created: _Moment
    """When the user logged in."""
    last_used: _Moment
    """When the session was last used, to the hour."""
    current: bool
    """Whether this request belongs to the session."""
    acr: Annotated[str, Field(examples=["aal2"])]
    """The level of the sign-in: `aal1`, `aal2` or `phr`."""
    amr: Annotated[list[str], Field(examples=[["pwd", "otp", "mfa"]])]
    """How the user proved to be who they are (RFC 8176)."""
    auth_time: Annotated[int | None, Field(examples=[1767222000])]
    """When the user last did so, in seconds since 1970; null if another provider did not tell."""
    tokens: list[TokenOfSession]
    """The active personal access tokens that were created in the session."""


@response_body("The active sessions of the user.")
class SessionsAnswer(TypedDict):
    sessions: list[SessionAnswer]
    """The current one first, then the most recently used; at most 100."""
    more: bool
    """Whether there are others, which were used less recently."""


@response_body("A pending change of address: its link has not been used yet.")
class PendingAnswer(TypedDict):
    email: Annotated[str, Field(examples=["ann@example.org"])]
    """The requested address."""
    expires_at: Annotated[
        str, Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T09:30:00Z"])
    ]
    """When the link in the mail expires."""


_Rows = list[dict[str, Any]]


@response_body("Everything that is stored about the user.")
class ExportAnswer(TypedDict):
    exported_at: _Moment
    """When this was read."""
    user: dict[str, Any]
    """The user, with a pending change of the address and the accepted terms."""
    identities: _Rows
    """The accounts at other providers with which the user can sign in."""
    login_names: _Rows
    """The names that the user logs in with."""
    former_addresses: _Rows
    """Former addresses that a mailed link can still restore."""
    groups: _Rows
    """The groups that the user is in, and since when."""
    invitations: _Rows
    """The invitations to the address of the user."""
    sent_invitations: _Rows
    """The invitations that the user has sent."""
    applications: _Rows
    """The applications whose ids the other parts name: name and, where it has one, the URL."""
    consents: _Rows
    """The applications that the user has allowed something, and what."""
    sign_ins_of_apps: _Rows
    """The token families of logins, also ended ones."""
    sign_ins_of_browsers: _Rows
    """The browser sessions."""
    personal_access_tokens: _Rows
    """The personal access tokens, also ended ones."""
    remembered_browsers: _Rows
    """The browsers that are not asked for the second factor for a time."""
    totp_factors: _Rows
    """The authenticator app, without its secret."""
    passkeys: _Rows
    """The passkeys, without their keys."""
    recovery_codes: _Rows
    """When recovery codes were made and used, without the codes."""
    mails: _Rows
    """The mails of the last days: kind, address and state, never their text."""
    audit_events: _Rows
    """The events of the audit trail that name the user."""
    rate_limits: _Rows
    """The rate limits that count for the user."""
