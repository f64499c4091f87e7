"""Parsers of URLs. A value that passes here is safe to compare, to link to and to split again."""

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

_PORTS = {"http": 80, "https": 443}
# No blanks, no quotes, no backslash (browsers take it for a slash), ASCII only (RFC 3986).
_ALLOWED = re.compile(r"[A-Za-z0-9:/?#\[\]@!$&'()*+,;=%._~-]{1,2048}")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_BASE_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~%-]+)*")
LOOPBACK_NAME = "localhost"


def web_url(text: str) -> str:
    """An absolute ``http(s)`` URL, kept character by character; it is compared like that."""
    _split_web(text, "give an absolute URL such as https://app.example.org/verify")
    return text


def web_urls(text: str) -> tuple[str, ...]:
    """Several of them, separated by blanks or line ends."""
    return tuple(web_url(word) for word in dict.fromkeys(text.split()))


def base_url(text: str) -> str:
    """Our own address: origin and an optional path, canonical, without a trailing slash."""
    advice = "give our own address, such as https://auth.example.org, with a path if it has one"
    parts = _split_web(text, advice)
    path = parts.path.rstrip("/")
    if "?" in text or not _BASE_PATH.fullmatch(path):
        raise ValueError(f"{advice}, without a query")
    return _origin(parts) + path


def origin(text: str) -> str:
    """An origin as browsers write it (RFC 6454): scheme, host, and port unless it is usual."""
    advice = "give exact origins such as https://app.example.org, without path and without *"
    parts = _split_web(text, advice)
    if "?" in text or parts.path not in ("", "/"):
        raise ValueError(advice)
    return _origin(parts)


def origins(text: str) -> tuple[str, ...]:
    """Several of them, separated by blanks or line ends."""
    return tuple(dict.fromkeys(origin(word) for word in text.split()))


def login_page(text: str) -> str:
    """The name of a view of ours, or the absolute URL of a login page elsewhere."""
    if "://" in text:
        return web_url(text)
    name = "" if text.startswith("//") else text.strip("/")
    if not re.fullmatch(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*", name):
        raise ValueError("give the name of a page such as login, or an absolute URL")
    return name


def logo(text: str) -> str:
    """The URL of a picture, or its path on our own host."""
    if re.fullmatch(r"/(?![/\\])[A-Za-z0-9/_.~%?=&-]+", text):
        return text
    return _advised(text, "give the URL of a picture, or its path on our host (/static/logo.svg)")


def cookie_domain(text: str) -> str:
    """A domain to share the session's cookie over, without a leading dot (RFC 6265)."""
    name = text.lower().removeprefix(".")
    if "." not in name or not _NAME.fullmatch(name) or name.rpartition(".")[2].isdigit():
        raise ValueError("give a domain such as example.org, which the host of base-url ends with")
    return name


def host_name(text: str) -> str:
    """A host name or IP address in canonical form; raises ValueError for anything else."""
    name = text.lower()
    if ":" in name:
        if "%" in name:
            raise ValueError("an address with a zone")
        return f"[{ip_address(name)}]"
    if name.rpartition(".")[2].isdigit():
        return str(ip_address(name))
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise ValueError("no host name")
    return name


def host_of(url: str) -> str:
    """The canonical host of a URL that one of these parsers returned."""
    return host_name(urlsplit(url).hostname or "")


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address and not a name."""
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def is_loopback(host: str) -> bool:
    """Whether a canonical host is this machine."""
    if is_address(host):
        return ip_address(host.strip("[]")).is_loopback
    return host == LOOPBACK_NAME or host.endswith("." + LOOPBACK_NAME)


def _advised(text: str, advice: str) -> str:
    _split_web(text, advice)
    return text


def _split_web(text: str, advice: str) -> SplitResult:
    """The parts of an ``http(s)`` URL without user, password, fragment and wildcard."""
    try:
        parts = urlsplit(text)
        fine = (
            _ALLOWED.fullmatch(text) is not None
            and parts.scheme in _PORTS
            and "@" not in parts.netloc
            and not parts.netloc.endswith(":")
            and "#" not in text
            and "*" not in text
            and parts.port != 0  # raises ValueError over 65535
            and host_name(parts.hostname or "") != ""
        )
    except ValueError:
        fine = False
    if not fine:
        raise ValueError(f"{advice}: http or https, without user, fragment and *")
    return parts


def _origin(parts: SplitResult) -> str:
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host_name(parts.hostname or '')}{port}"
