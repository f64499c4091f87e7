"""Redirect URIs: what may be registered, and what a request may send (RFC 9700, section 4.1).

Each URI is parsed once, when it is registered. What a request sends is compared character by
character (RFC 3986, section 6.2.1); only programs may choose the port on a loopback address, by RFC
8252, section 7.3, which for ``localhost`` goes beyond that section.
"""

import re
from collections.abc import Collection, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from authsite.oauth.errors import InvalidValue
from authsite.oauth.models import MAX_URI, NATIVE, PROGRAM_TYPES, SERVER
from authsite.platform.i18n import _
from authsite.platform.settings import Settings
from authsite.platform.settings.urls import host_name, origin
from authsite.platform.settings.values import RESERVED_SCHEMES

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# RFC 3986 without the characters that begin a fragment, and without "*".
_CHARACTERS = re.compile(r"(?:[A-Za-z0-9:/?\[\]@!$&'()+,;=._~-]|%[0-9A-Fa-f]{2})*")
_PARTS = re.compile(  # RFC 3986, appendix B: each character is in one part
    r"(?:([^:/?#]+):)?(?://([^/?#]*+))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"([^:\[\]@]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
_ANY_PORT = re.compile(
    r"http://(?P<host>localhost|127\.0\.0\.1|\[::1\])(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?].*|)",
    re.DOTALL,
)
_LOCALHOST = re.compile(r"(?:.+\.)?localhost", re.IGNORECASE)  # RFC 6761, section 6.3
_LAST_PORT = 65535


class _Parts(NamedTuple):
    scheme: str | None
    user: str | None
    host: str | None
    port: str | None
    path: str
    query: str | None
    fragment: str | None


class Allowed(NamedTuple):
    """What the operator allows besides the rules.

    ``private_schemes``: schemes without a dot that programs may use. ``http_hosts``: the hosts to
    which clients of type `SERVER` may be sent without TLS; None for a client that no administrator
    registers, to which no setting can allow any.
    """

    private_schemes: Collection[str] = ()
    http_hosts: Collection[str] | None = ()


NOTHING = Allowed()


def allowed_by(settings: Settings | None) -> Allowed:
    """What the settings `private-schemes` and `http-redirect-hosts` allow."""
    if settings is None:
        return NOTHING
    return Allowed(settings.private_schemes, settings.http_redirect_hosts)


def check(uri: str, client_type: str, allowed: Allowed = NOTHING) -> None:
    """Raise ValueError, with what to do, unless a client of this type may register the URI."""
    if len(uri) > MAX_URI:
        raise InvalidValue(
            _("a URI must have at most ${number} characters", mapping={"number": str(MAX_URI)})
        )
    if "#" in uri:
        raise InvalidValue(
            _("leave the fragment out, which begins with #: ${uri}", mapping={"uri": uri})
        )
    if "*" in uri:
        raise InvalidValue(
            _(
                "give each URI by itself, since * stands for nothing else: ${uri}",
                mapping={"uri": uri},
            )
        )
    if not _CHARACTERS.fullmatch(uri):
        raise InvalidValue(
            _(
                "write blanks, backslashes, quotes and non-ASCII characters as %XX: ${uri}",
                mapping={"uri": repr(uri)},
            )
        )
    scheme = (_split(uri).scheme or "").lower()
    if not _SCHEME.fullmatch(scheme):
        raise InvalidValue(
            _(
                "give the whole URI, such as https://app.example.org/callback: ${uri}",
                mapping={"uri": uri},
            )
        )
    if scheme in ("http", "https"):
        _check_web(uri, scheme, client_type, allowed.http_hosts)
    else:
        _check_private(uri, scheme, client_type, allowed.private_schemes)
    check_readable(uri)


def check_readable(uri: str) -> None:
    """Raise ValueError if pages could not show the host of the URI."""
    try:
        urlsplit(uri)
    except ValueError:
        raise _unreadable(uri) from None


def matches(registered: str, sent: str, client_type: str) -> bool:
    """Whether the URI that a request has ``sent`` is this ``registered`` one."""
    if registered == sent:
        return True
    if client_type not in PROGRAM_TYPES or len(sent) > MAX_URI:
        return False
    known, asked = _ANY_PORT.fullmatch(registered), _ANY_PORT.fullmatch(sent)
    return (
        known is not None
        and asked is not None
        and known["host"] == asked["host"]
        and known["rest"] == asked["rest"]
        and 0 < int(asked["port"] or 80) <= _LAST_PORT
    )


def difference(registered: Sequence[str], sent: str, client_type: str) -> dict[str, str]:
    """The registered URI that is ``nearest`` to what a client of this type has ``sent``.

    ``differs`` has the names of the parts in which they differ: of ``scheme``, ``slashes``,
    ``user``, ``host``, ``port``, ``path``, ``slash``, ``case``, ``query`` and ``fragment``.
    ``slashes`` are those after the scheme, ``slash`` is one at the end of the path, ``case`` that
    of letters in host or path. Empty if no URI is registered, or what was sent is too long for one.
    """
    if not registered or len(sent) > MAX_URI:
        return {}
    asked = _split(sent)
    each = {one: _differences(_split(one), asked) for one in registered}
    if client_type in PROGRAM_TYPES and _ANY_PORT.fullmatch(sent):
        for one, names in each.items():
            if _ANY_PORT.fullmatch(one):  # such a program chooses the port
                each[one] = tuple(name for name in names if name != "port")
    nearest = min(each, key=lambda one: _distance(each[one]))
    return {"nearest": nearest, "differs": " ".join(each[nearest])}


def check_origin(text: str) -> None:
    """Raise ValueError, with what to do, unless this is an origin as browsers send it (RFC 6454).

    ``http`` is accepted for loopback only.
    """
    exact = origin(text)
    if exact != text:
        raise InvalidValue(
            _("give the origin as browsers send it: ${exact}", mapping={"exact": exact})
        )
    if text.startswith("http:"):
        _check_loopback(text)


def web_uri(text: str) -> str:
    """An absolute ``https`` URI for a link on a page; ``http`` on loopback. Raises ValueError."""
    scheme = (_split(text).scheme or "").lower()
    if scheme not in ("http", "https"):
        raise InvalidValue(_("give a URL that begins with https: ${text}", mapping={"text": text}))
    check(text, NATIVE)
    return text


def host(uri: str) -> str:
    """The host of a registered URI, as the setting `http-redirect-hosts` has it; or empty."""
    return _split(uri).host or ""


def is_unencrypted(uri: str) -> bool:
    """Whether a registered URI leads to another computer without TLS (`http-redirect-hosts`)."""
    return (_split(uri).scheme or "").lower() == "http" and not is_program(uri)


def is_program(uri: str) -> bool:
    """Whether a registered URI leads to a program on this computer, by loopback or own scheme.

    Any program there may listen on a loopback address, also with https.
    """
    parts = _split(uri)
    if (parts.scheme or "").lower() not in ("http", "https"):
        return True
    return _LOCALHOST.fullmatch(parts.host or "") is not None or _is_loopback(parts.host or "")


def _is_loopback(host: str) -> bool:
    """Whether it is an address of this computer, in any notation (RFC 4291, section 2.2)."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return address.is_loopback or address.is_unspecified


def _check_web(uri: str, scheme: str, client_type: str, http_hosts: Collection[str] | None) -> None:
    authority = _PARTS.fullmatch(uri)
    name = authority[2] if authority else None
    if not name:
        raise InvalidValue(
            _(
                "give the host after ${scheme}://, such as app.example.org: ${uri}",
                mapping={"scheme": scheme, "uri": uri},
            )
        )
    if "@" in name:
        raise InvalidValue(
            _("leave out the user before the host, which ends with @: ${uri}", mapping={"uri": uri})
        )
    found = _AUTHORITY.fullmatch(name)
    if found is None or not 0 < int(found[2] or 443) <= _LAST_PORT:
        raise _unreadable(uri)
    try:
        host_name(found[1].strip("[]"))
    except ValueError:
        raise InvalidValue(
            _("the host is neither a name nor an address: ${uri}", mapping={"uri": uri})
        ) from None
    if client_type != SERVER:
        http_hosts = None
    if scheme == "http" and found[1] not in (http_hosts or ()):
        _check_loopback(uri, None if http_hosts is None else "http-redirect-hosts")


def _unreadable(uri: str) -> InvalidValue:
    return InvalidValue(_("the host or the port cannot be read: ${uri}", mapping={"uri": uri}))


def _check_loopback(uri: str, setting: str | None = None) -> None:
    """Raise `InvalidValue` for another host; ``setting``: the one that could allow it."""
    if _ANY_PORT.fullmatch(uri) is not None:
        return
    if setting:
        raise InvalidValue(
            _(
                "use https; http is for ${hosts} and the hosts in the setting ${setting} only, in"
                " lower case: ${uri}",
                mapping={"hosts": ", ".join(_LOOPBACK), "setting": setting, "uri": uri},
            )
        )
    raise InvalidValue(
        _(
            "use https; http is for ${hosts} only, in lower case: ${uri}",
            mapping={"hosts": ", ".join(_LOOPBACK), "uri": uri},
        )
    )


def _check_private(
    uri: str, scheme: str, client_type: str, private_schemes: Collection[str]
) -> None:
    """A scheme of a program's own (RFC 8252, section 7.1)."""
    if client_type not in PROGRAM_TYPES:
        raise InvalidValue(
            _(
                "use https; a scheme of its own is for a program (type ${native}) only: ${uri}",
                mapping={"native": NATIVE, "uri": uri},
            )
        )
    if scheme in RESERVED_SCHEMES:
        raise InvalidValue(
            _(
                "use a scheme of the program's own, such as org.example.app, since ${scheme} has"
                " another meaning: ${uri}",
                mapping={"scheme": scheme, "uri": uri},
            )
        )
    if "." not in scheme and scheme not in private_schemes:
        raise InvalidValue(
            _(
                "use a scheme with a domain of yours in reverse, such as org.example.app, or add"
                " ${scheme} to the setting private-schemes: ${uri}",
                mapping={"scheme": scheme, "uri": uri},
            )
        )
    if uri.partition(":")[2].strip("/") == "" and not uri.endswith("/"):
        raise InvalidValue(
            _(
                "give a path after the scheme, such as ${scheme}:/callback: ${uri}",
                mapping={"scheme": scheme, "uri": uri},
            )
        )
    if _split(uri).user is not None:
        raise InvalidValue(
            _("leave out the user before the host, which ends with @: ${uri}", mapping={"uri": uri})
        )


def _split(uri: str) -> _Parts:
    found = _PARTS.fullmatch(uri)
    if found is None:
        raise AssertionError("each text has these parts")
    scheme, authority, path, query, fragment = found.groups()
    if authority is None:
        return _Parts(scheme, None, None, None, path, query, fragment)
    user, at, place = authority.rpartition("@")
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port:
        host, colon, port = place, "", ""
    return _Parts(
        scheme, user if at else None, host, port if colon else None, path, query, fragment
    )


def _differences(known: _Parts, asked: _Parts) -> tuple[str, ...]:
    found = [
        name for name in ("scheme", "user", "port", "query", "fragment")
        if getattr(known, name) != getattr(asked, name)
    ]  # fmt: skip
    one_has_authority = (known.host is None) != (asked.host is None)
    if asked.scheme and one_has_authority:  # ":/path" and "://path", or ":///path"
        found.append("slashes")
        known, asked = _without_authority(known), _without_authority(asked)
    hosts, paths = (known.host or "", asked.host or ""), (known.path, asked.path)
    lower = [text.lower() for text in hosts]
    if lower[0] != lower[1]:
        found.append("host")
    elif hosts[0] != hosts[1]:
        found.append("case")
    bare = [text.rstrip("/") for text in paths]
    if bare[0].lower() != bare[1].lower():
        found.append("path")
    else:
        found += ["case"] if bare[0] != bare[1] else []
        found += ["slash"] if len(paths[0]) - len(bare[0]) != len(paths[1]) - len(bare[1]) else []
    order = (
        *("scheme", "slashes", "user", "host", "port"),
        *("path", "slash", "case", "query", "fragment"),
    )
    return tuple(name for name in order if name in found)


def _without_authority(parts: _Parts) -> _Parts:
    """``parts`` with the host as the beginning of the path, as if there were no slashes."""
    path = f"{parts.host or ''}{parts.path}".lstrip("/")
    return parts._replace(host=None, path=path)


def _distance(differences: tuple[str, ...]) -> tuple[bool, int]:
    """Another host is farther away than any other difference."""
    return "host" in differences, len(differences)
