"""The options of ``authsite client create`` and ``update`` for the fields of a client."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from authsite.oauth.client_fields import (
    ALGORITHMS,
    CLAIMS,
    CONSENT,
    PKCE,
    ClientFields,
    seconds_of,
)

T = TypeVar("T")
_LISTS = ("redirect_uris", "post_logout_redirect_uris", "origins")
_SWITCHES = ("first_party", "require_confirmed")
SWITCH = click.Choice(["on", "off"])


def _lifetime(_ctx: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    """Seconds: of a duration, or of a number; 0 for an empty text, which removes the value."""
    if text is None:
        return None
    try:
        return seconds_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_OPTIONS = (
    click.option(
        "--redirect-uri",
        "redirect_uris",
        metavar="URI",
        multiple=True,
        help="Where the person returns after the sign-in; give it again for more.",
    ),
    click.option(
        "--post-logout-redirect-uri",
        "post_logout_redirect_uris",
        metavar="URI",
        multiple=True,
        help="Where the person returns after the logout; give it again for more.",
    ),
    click.option(
        "--origin",
        "origins",
        metavar="ORIGIN",
        multiple=True,
        help="browser: an origin whose pages may call the token endpoint (CORS).",
    ),
    click.option(
        "--first-party",
        type=SWITCH,
        help="Your own application: no consent is asked, and with the scope account its tokens "
        "open authsite's own API. Changing it ends the client's tokens.",
    ),
    click.option(
        "--consent",
        type=click.Choice(CONSENT),
        help="none: you answer for your users, such as for a tool that your company has bought. "
        "They are not asked for what it may have anyway; it stays a third party's.",
    ),
    click.option(
        "--pkce",
        type=click.Choice(PKCE),
        help="optional: for a server application that does not support PKCE (RFC 7636).",
    ),
    click.option(
        "--id-token-signed-response-alg",
        type=click.Choice(ALGORITHMS),
        help="What its ID tokens are signed with; RS256 by default.",
    ),
    click.option(
        "--id-token-lifetime",
        metavar="DURATION",
        callback=_lifetime,
        help="How long its ID tokens last, such as 10m; by default authsite.id-token-expires-in.",
    ),
    click.option(
        "--id-token-claims",
        type=click.Choice(CLAIMS),
        help="both: the ID token has the facts about the user, too, not only userinfo.",
    ),
    click.option(
        "--require-confirmed",
        type=SWITCH,
        help="Only users with a confirmed e-mail address; on by default.",
    ),
    click.option("--require-group", metavar="GROUP", help="Only members of this group."),
    click.option(
        "--default-resource",
        metavar="URI",
        help="The resource that its tokens are for if a request names none (RFC 8707).",
    ),
    click.option("--logo", metavar="FILE", help="A picture in authsite.static-folder."),
    click.option("--policy-uri", metavar="URL", help="Its privacy policy."),
    click.option("--tos-uri", metavar="URL", help="Its terms of service."),
)


def field_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options; ``command`` gets them as ``fields``, a `ClientFields`."""

    @wraps(command)
    def with_fields(**given: Any) -> T:
        values = {name: given.pop(name) for name in ClientFields._fields}
        for name in _LISTS:
            values[name] = values[name] or None
        for name in _SWITCHES:
            values[name] = None if values[name] is None else values[name] == "on"
        return command(fields=ClientFields(**values), **given)

    with_options: Any = with_fields
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return with_options  # type: ignore[no-any-return]
