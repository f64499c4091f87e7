"""The settings of *OpenID Connect* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import timedelta

from authsite.platform.settings import values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.durations import duration

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
    private_schemes: tuple[str, ...] = setting(
        values.list_of(values.private_scheme),
        "",
        text="List of schemes without a dot that the redirect URIs of programs (clients of type"
        " `native`) may have, such as `myapp` for `myapp://callback`. Schemes with a dot, such as"
        " `org.example.app`, need no entry.",
    )
