"""The settings of *Tokens and first-party clients* in ``docs/settings.md``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from authsite.platform.settings import values
from authsite.platform.settings.definition import LIFETIME, PREFIX, Definition, optional, setting
from authsite.platform.settings.secret import Secret, client_secret
from authsite.platform.settings.values import CENTURY, duration

CLIENT = {
    "id": Definition(
        values.client_id,
        key=f"{PREFIX}clients.<name>.id",
        text="Client id of a first-party client, which gets `/v1/clients/<name>/login`. Also"
        " `CLIENT_<NAME>_ID`.",
    ),
    "secret": Definition(
        client_secret,
        key=f"{PREFIX}clients.<name>.secret",
        secret=True,
        text="Its client secret, as `authsite client create` prints it. Also"
        " `CLIENT_<NAME>_SECRET`.",
    ),
}


@dataclass(frozen=True, slots=True)
class ProxyClient:
    """The credentials that a proxy endpoint adds for one first-party client."""

    id: str
    secret: Secret


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens and first-party clients."""

    expires_in: timedelta = setting(
        LIFETIME,
        "3650",
        variable="API_TOKEN_EXPIRES",
        text="Lifetime of access tokens, up to a century; a number without a unit is days.",
    )
    refresh_expires_in: timedelta = setting(
        LIFETIME,
        "3650",
        variable="API_REFRESH_TOKEN_EXPIRES",
        text="Lifetime of refresh tokens; a number without a unit is days.",
    )
    refresh_grace: timedelta = setting(
        duration(timedelta(hours=1), zero=True),
        "10s",
        text="How long the refresh token before the newest one still gets the same pair of tokens"
        " again, for a client that lost the response. `0s` to `1h`.",
    )
    family_lifetime: timedelta | None = optional(
        duration(CENTURY),
        text="How long a sign-in lasts at most: no token of it works longer, however often it is"
        " refreshed. By default there is no limit. Access tokens that were issued before the"
        " setting was changed work until their own expiry. It does not concern personal access"
        " tokens.",
    )
    guard_cache: timedelta = setting(
        duration(timedelta(seconds=60), zero=True),
        "0s",
        text="How long a process may accept a GET request to a guarded route of your own"
        " application, or to forward auth, without asking the database again; see"
        " [guards](guards.md#accepting-from-memory). A revocation then takes effect only after"
        " this time. `0s` (every request asks the database) to `60s`.",
    )
    scopes: values.Scopes = setting(
        values.scopes,
        "",
        text="The scopes of tokens: lines `name: description`, or `name [groups]: description` for"
        " a scope that only [groups of users](groups.md) give (indented in an ini), split at the"
        " first colon that a blank follows. Names that begin with `admin:` are reserved, and"
        " `account`, `openid`, `profile`, `email`, `phone`, `groups` and `offline_access`; see"
        " [scopes.md](scopes.md).",
    )
    personal_token_scopes: tuple[str, ...] = setting(
        values.list_of(values.personal_token_scope),
        "",
        text="List of the scopes that a [personal access token](tokens.md#personal-access-tokens)"
        " may have if its owner creates it on the account page. If it is created by the API, it"
        " has at most the scopes of the token that creates it. Never `admin:*`.",
    )
    clients: Mapping[str, ProxyClient]  # from `clients.<name>.id` and `clients.<name>.secret`
