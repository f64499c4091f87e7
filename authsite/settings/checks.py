"""What holds between settings, and what production asks for. Says what; `load` says it all."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from .errors import Problem
from .fields import Settings
from .known import documented
from .urls import host_of, is_loopback

_MIN_METRICS_TOKEN = 16  # characters
_LONG = timedelta(days=365)


def check(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong though each value alone is right; a value that is None was not given."""
    base_url, domain = values["base_url"], values["session_cookie_domain"]
    if base_url and domain and not f".{host_of(base_url)}".endswith(f".{domain}"):
        yield Problem(
            documented("session_cookie_domain"),
            "no browser takes this cookie; give the host of base-url or a domain it ends with",
            value=repr(domain),
        )
    if values["production"]:
        yield from _production(values)


def cautions(settings: Settings) -> list[str]:
    """What is allowed and deserves a warning at every start."""
    found = []
    for name in ("expires_in", "refresh_expires_in"):
        lifetime: timedelta = getattr(settings, name)
        if lifetime >= _LONG:
            found.append(
                f"{documented(name)} is {lifetime.days} days: a stolen token works as long."
                " production.ini shows shorter lifetimes."
            )
    if settings.production and not settings.limits:
        found.append("authsite.limits is off: passwords can be guessed without a limit.")
    return found


def _production(values: Mapping[str, Any]) -> Iterator[Problem]:
    base_url, token = values["base_url"], values["metrics_token"]
    if base_url is None:
        advice = "production needs our own address; give it, e.g. https://auth.example.org"
        yield Problem(documented("base_url"), f"it is not set; {advice}, as AUTHSITE_BASE_URL")
    elif base_url.startswith("http:") and not is_loopback(host_of(base_url)):
        yield Problem(
            documented("base_url"),
            "production needs https, since passwords and tokens travel (http only on localhost)",
            value=repr(base_url),
        )
    if values["mail_driver"] == "log" and not values["mail_log_in_production"]:
        yield Problem(
            documented("mail_driver"),
            "the log driver writes links with tokens into the log; give smtp or file, or set"
            f" {documented('mail_log_in_production')} = true if that is what you want",
            value="'log'",
        )
    if token is not None and len(token) < _MIN_METRICS_TOKEN:
        yield Problem(
            documented("metrics_token"),
            f"production needs at least {_MIN_METRICS_TOKEN} characters,"
            " such as the output of `authsite secret new`",
        )
