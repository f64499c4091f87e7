"""Settings with which secrets travel without TLS, for the table of `unsafe_choices`."""

from collections.abc import Iterable

from .definitions import Settings
from .rules import REFUSED, Rule, subject
from .urls import host_name, host_of, is_loopback, smtp_server


def unencrypted_rule(attribute: str, what: str) -> Rule:
    """The rule that the URLs in a setting use https."""
    return Rule(
        f"{subject(attribute)}-plain",
        attribute,
        lambda s: unencrypted(getattr(s, attribute)),
        f"{what} travel in the clear: give https (http only on localhost), not {{found}}",
        REFUSED,
    )


def unencrypted(urls: Iterable[str] | str | None) -> str:
    """The URLs that use http to another machine. An app's own scheme stays here."""
    all_urls = (urls,) if isinstance(urls, str) else urls or ()
    return " ".join(
        url for url in all_urls if url.startswith("http://") and not is_loopback(host_of(url))
    )


def password_without_tls(settings: Settings) -> str:
    """The host of ``smtp-url`` that gets a password by TLS only if it offers it; else empty."""
    if settings.smtp_url is None or settings.mail_driver != "smtp":
        return ""
    server = smtp_server(settings.smtp_url.reveal())
    clear = server.password is not None and server.tls == "none"
    return server.host if clear and not is_loopback(host_name(server.host)) else ""
