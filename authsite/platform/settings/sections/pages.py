"""The settings of *Pages and browsers* in ``docs/settings.md``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from authsite.platform.settings import urls, values
from authsite.platform.settings.definition import SESSION, optional, setting
from authsite.platform.settings.values import domains

# The settings that may have a value for each language, with the text of `<key>.<language>`.
LOCALIZED = {
    "footer_links": "The same for pages and mails in one language (`de`, `es`, `fr`), instead of"
    " `footer-links`: `footer-links.de`.",
    "support_url": "The same for one language, instead of `support-url`.",
    "terms_url": "The same for one language, instead of `terms-url`, which must be set, too. At"
    " `POST /v1/register` the header `Accept-Language` chooses the language, as it does for the"
    " messages.",
}


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Pages and browsers."""

    languages: tuple[str, ...] = setting(
        values.languages,
        "",
        text="List of `en`, `de`, `es`, `fr`: the languages of pages and mails, in the order of"
        " the links below every page. The first is for those who have chosen none and whose"
        " browser asks for none of them. A user's language for mails is stored; see"
        " [mail](mail.md#texts-and-languages). By default all of them, English first. With a"
        " single language there are no links.",
    )
    site_name: str = setting(
        values.single_line(60),
        "authsite",
        text="Name in pages and mails, up to 60 characters.",
    )
    site_logo: str | None = optional(
        urls.logo,
        text="A picture, shown on pages and in mails instead of the first letter and the name; a"
        " wide one (a wordmark) is fine. The name of a file in `static-folder`, a path on the host"
        " of authsite, or the URL of a picture on another host, which is then the only thing that"
        " pages load from there.",
    )
    site_icon: str | None = optional(
        urls.icon,
        text="The icon in the browser's tab: the name of a file in `static-folder`, or a path on"
        " the host of authsite. By default the first letter of `site-name` on `accent-color`.",
    )
    accent_color: str | None = optional(
        values.color,
        text="Color of buttons and links: `#0a7` or `#00aa77`.",
    )
    font: str | None = optional(
        values.font,
        text="The fonts of pages, in their order, separated by commas: `Inter, Segoe UI,"
        " sans-serif`. Names of letters, digits, blanks and hyphens. Only fonts that the reader's"
        " device has: pages load none. By default that of the operating system.",
    )
    corner_radius: str | None = optional(
        values.corner_radius,
        text="How round the corners of fields, buttons and cards are: `0`, or a length up to"
        " `24px` or `1.5rem`. By default 0.625rem.",
    )
    footer_links: Mapping[str, str] = setting(
        urls.footer_links,
        "",
        text="Links below every page and in mails: lines `Text: URL` (indented in an ini), split"
        " at the first colon that a blank follows. A URL is absolute, a path on the host of"
        " authsite, the name of a file in `static-folder`, or `mailto:` with an address.",
    )
    support_url: str | None = optional(
        urls.link,
        text='Where users find help: the link "Help" below every page and in mails. As a URL in'
        " `footer-links`.",
    )
    terms_url: str | None = optional(
        urls.terms,
        text="The terms of use: a URL, a path on the host of authsite, or the name of a file in"
        " `static-folder`. A person who registers must accept them: with a checkbox on the page,"
        " with `terms_accepted` = `true` at `POST /v1/register` (else 422, `required`). The user's"
        " row keeps this value and the time, in `terms_url` and `terms_accepted_at`.",
    )
    translated: Mapping[str, Mapping[str, Any]]  # from `<key>.<language>`, see `localized`
    static_folder: str | None = optional(
        values.printable(1024),
        text="Folder of your own files, which everybody can read at `/authsite/files/<name>`; see"
        " [branding.md](branding.md#your-own-files).",
    )
    templates_folder: str | None = optional(
        values.printable(1024),
        text="Folder of your own templates for pages and mails, each instead of the template of"
        " the same name; see [branding.md](branding.md#your-own-templates).",
    )
    return_origins: tuple[str, ...] = setting(
        urls.origins,
        "",
        text="List of origins (`https://app.example.org`) to which a login may redirect. Give the"
        " URL as `next` to `/login`, `/register` or `/password/forgot`; with [forward"
        " auth](forward-auth.md) the proxy does so.",
    )
    cors_origins: tuple[str, ...] = setting(
        urls.cors_origins,
        "",
        text="List of origins whose pages may call `/v1`; app schemes (`capacitor://localhost`),"
        " too.",
    )
    session_cookie_domain: str | None = optional(
        urls.cookie_domain,
        text="Domain whose hosts get a second cookie, which opens [forward"
        " auth](forward-auth.md#the-cookies-of-authsite) and an application that includes"
        " authsite, but none of authsite's pages. Every host of `base-url` must end with it. To"
        " set or remove it signs all browsers out.",
    )
    session_idle: timedelta = setting(
        SESSION,
        "12h",
        text="How long a browser session lasts without use. The time of the last use is only"
        " recorded now and then (after a twelfth of this time, between a minute and an hour), so a"
        " session may end earlier by that.",
    )
    session_lifetime: timedelta = setting(
        SESSION,
        "30d",
        text="How long a browser session lasts at most; for sessions that begin from now on.",
    )
    session_remember: timedelta = setting(
        SESSION,
        "90d",
        text='How long it lasts with "Keep me signed in", used or not; at most `400d`, the'
        " longest that browsers keep a cookie.",
    )
    registration: Literal["on", "off", "domains", "invite"] = setting(
        values.registration,
        "on",
        text="Who can register: `on` (everyone), `domains` (addresses of `registration-domains`"
        " alone), `invite` (by invitation alone) or `off`; see [registration by"
        " domain](#registration-by-domain). With `invite` and `off` there is no page and no link to"
        " it, and `POST /v1/register` is a path that does not exist (404; the OpenAPI document does"
        " not have it). Invite people with `authsite user invite`, which is possible unless it is"
        " `off`, or create users with `authsite user create`.",
    )
    registration_domains: tuple[str, ...] = setting(
        domains,
        "",
        text="The domains whose addresses can register: whole domains such as `corp.example`,"
        " separated by spaces or line ends; required with `registration = domains`. A subdomain is"
        " another domain. Upper case and the ASCII form of an international name make no"
        " difference.",
    )
    registration_fields: tuple[str, ...] | None = optional(
        values.registration_fields,
        text="List of `name`, `username`, `phone`, or `none`: what the pages of registration and of"
        " invitations ask, as optional fields, besides e-mail address and password; `username` and"
        " `phone` only if they are in `login-identifiers`. By default `name` where applications can"
        " sign people in (`openid`), since many show it; else `none`. The rest can be filled in on"
        " the account page. Without `email` in `login-identifiers` the page always asks the"
        " identifiers that are there. `POST /v1/register` takes all fields in any case.",
    )
    apiato_errors: bool = setting(
        values.boolean,
        "off",
        text='`on`: an error 422 lists the messages of each field in an object, `"errors":'
        ' {"email": ["…"]}`, as Laravel does; see [apiato.md](apiato.md#errors-by-field).',
    )
    docs_page: bool = setting(
        values.boolean,
        "on",
        text="`off`: there is no page `/docs`. `GET /v1/openapi.json` stays.",
    )
    app_page: bool = setting(
        values.boolean,
        "on",
        text="`off`: there is no page `/app`, the demo of the web client. `production.ini` sets"
        " it.",
    )
    hsts: Literal["host", "subdomains", "off"] | None = optional(
        values.hsts,
        text="The hosts for which a browser that has used https uses only https for a year (HTTP"
        " Strict Transport Security): `host` (that of authsite), `subdomains` (and all below it)"
        " or `off`. By default `host`, and `off` in an application that includes authsite.",
    )
