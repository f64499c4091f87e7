"""The settings of *Addresses and login* in ``docs/settings.md``."""

from dataclasses import dataclass
from typing import Literal

from authsite.platform.settings import urls, values
from authsite.platform.settings.definition import optional, setting


@dataclass(frozen=True, kw_only=True)
class Login:
    """Addresses and login."""

    base_url: tuple[str, ...] = setting(
        urls.base_urls,
        "",
        text="The address of authsite, or a list: `https://auth.example.org`, or"
        " `https://example.org/auth` for a site below a path. Links, redirects and cookies use it"
        " and ignore the address in the request. With several addresses, a request to one of them"
        " uses that one, and every other request uses the first. By default the address is read"
        " from the request, through `trusted-proxies`. Required in production.",
    )
    trusted_proxies: values.TrustedProxies = setting(
        values.trusted_proxies,
        "",
        text="List of addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-*` headers are"
        " trusted, or `*` if only the proxy can connect; without it, all clients behind a proxy"
        " have the address of the proxy. A network of all addresses (`0.0.0.0/0`) is an error:"
        " authsite would also trust an entry that the client wrote.",
    )
    variant: Literal["A", "B"] = setting(
        values.variant,
        "A",
        text="What an unconfirmed user may do: `A` (verification) or `B` (forced confirmation);"
        " see [concepts](concepts.md#variant).",
    )
    login_page_url: str = setting(
        urls.login_page,
        "login",
        text="The page to which users who are not signed in are redirected: the name or path of"
        " one of authsite's pages, the name of a route or view of the including application, or an"
        " absolute URL. With a name that does not exist, authsite does not start. A page on"
        " another origin gets `next` as an absolute URL. With `prompt=login` the page must show"
        " its form although the user is signed in (route option `fresh`).",
    )
    login_identifiers: tuple[str, ...] = setting(
        values.identifiers,
        "email",
        text="List of `email`, `username`, `phone`, in the order in which they are tried. Login"
        " names of another kind stay stored; they are null in the user object, and do not log"
        " users in.",
    )
    phone_region: str | None = optional(
        values.region,
        text="The country (`DE`, `GB`) of phone numbers that are written without `+`.",
    )
