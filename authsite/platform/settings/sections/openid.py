"""The settings of *OpenID Connect* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from authsite.platform.settings import agent_values, urls, values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.values import duration

_LEAST_ROTATION = timedelta(days=2)
_parse_rotation = duration(timedelta(days=3650), zero=True)


def rotation(text: str) -> timedelta:
    """The time between two rotations: zero for none, else at least two days.

    A client keeps our keys for up to a day, and must have seen a key before it signs.
    """
    span = _parse_rotation(text)
    if timedelta() < span < _LEAST_ROTATION:
        raise ValueError("give 2d or more, so that clients know a key before it signs; or 0")
    return span


@dataclass(frozen=True, kw_only=True)
class OpenId:
    """OpenID Connect."""

    openid: bool | None = optional(
        values.boolean,
        text="Whether applications can sign people in here with [OpenID Connect](openid.md): `on`"
        " or `off`. By default `on` if `base-url` begins with `https://` (or is on this machine)"
        " and, with `production`, there is a `sealing-key`; `off` in an application that includes"
        " authsite. With `on` and without these authsite does not start.",
    )
    code_expires_in: timedelta = setting(
        duration(timedelta(minutes=10)),
        "60s",
        text="How long an authorization code can be exchanged for tokens; at most `10m`.",
    )
    id_token_expires_in: timedelta = setting(
        duration(timedelta(days=1)),
        "1h",
        text="Lifetime of ID tokens of clients that have no other; at most `1d`.",
    )
    signing_key_rotation: timedelta = setting(
        rotation,
        "90d",
        text="After which time the [keys that sign ID tokens](openid.md#signing-keys) are replaced:"
        " `2d` or more; `0` for never, except with `authsite keys rotate`.",
    )
    jwt_expires_in: timedelta = setting(
        duration(timedelta(minutes=10)),
        "5m",
        text="Lifetime of access tokens that a [resource checks itself](gateway.md) (JWT); at most"
        " `10m`, since a revocation takes that long.",
    )
    device_expires_in: timedelta = setting(
        duration(timedelta(hours=1)),
        "10m",
        text="How long a program or device waits for a person to [enter its code](devices.md) at"
        " `/device`; at most `1h`.",
    )
    client_registration: Literal["off", "open"] = setting(
        agent_values.registration,
        "off",
        text="Whether programs may [register themselves](client-registration.md) as clients (RFC"
        " 7591): `off` or `open`. The consent page says that they are not verified.",
    )
    client_registration_scopes: tuple[str, ...] = setting(
        values.list_of(agent_values.unverified_scope),
        "",
        text="List of the scopes that clients may have that registered themselves, or that a"
        " document describes, besides those of OpenID Connect.",
    )
    client_id_documents: tuple[str, ...] = setting(
        agent_values.document_hosts,
        "off",
        text="Hosts whose documents can describe a [client](client-documents.md): its `client_id`"
        " is the URL of the document. A list of hosts, `*` for all, or `off`.",
    )
    private_schemes: tuple[str, ...] = setting(
        values.list_of(values.private_scheme),
        "",
        text="List of schemes without a dot that the redirect URIs of programs (clients of type"
        " `native`) may have, such as `myapp` for `myapp://callback`. Schemes with a dot, such as"
        " `org.example.app`, need no entry.",
    )
    http_redirect_hosts: tuple[str, ...] = setting(
        values.list_of(urls.private_host),
        "",
        text="List of hosts to which people may return over `http`, from clients of type `server`"
        " that have no TLS: exact private addresses (`10.0.0.5`), or exact names that end in"
        " `.internal`, `.lan`, `.home.arpa`, `.local` or `.test`. The codes can be read"
        " in that network; see [redirect URIs](openid.md#redirect-uris).",
    )
