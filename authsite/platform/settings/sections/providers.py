"""The settings of *Sign in with other providers* in ``docs/settings.md``."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, NamedTuple, TypeAlias

from authsite.platform.settings import provider_values, urls, values
from authsite.platform.settings.definition import METADATA, PREFIX, Definition
from authsite.platform.settings.secret import Secret
from authsite.platform.settings.values import CENTURY, domains, duration

Preset: TypeAlias = Literal["google", "microsoft", "github", "gitlab", "oidc"]
TENANT = "{tenantid}"  # in the issuer that Microsoft Entra's common endpoints announce
_SEVERAL = re.compile(r"/(?:common|organizations|\{tenantid\})(?=/|$)")
_GUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Defaults(NamedTuple):
    """What a preset sets. ``issuer`` and ``label`` are None for `oidc`, which has none."""

    issuer: str | None = None
    label: str | None = None
    scope: tuple[str, ...] = ("openid", "email", "profile")
    trust_email: bool = False


PRESETS: Mapping[Preset, Defaults] = {
    "google": Defaults("https://accounts.google.com", "Google", trust_email=True),
    "microsoft": Defaults("https://login.microsoftonline.com/common/v2.0", "Microsoft"),
    "github": Defaults(
        "https://github.com", "GitHub", ("read:user", "user:email"), trust_email=True
    ),
    "gitlab": Defaults("https://gitlab.com", "GitLab"),
    "oidc": Defaults(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Another provider with which users may sign in: ``authsite.providers.<name>.<key>``.

    ``icon``: the name of an own file, or None for the picture of the preset. ``tenants``: tenant
    ids of Microsoft Entra, or ``("*",)``. ``domains``: empty for all. ``extra``: further parameters
    of the authorization request.
    """

    name: str
    preset: Preset
    client_id: str
    client_secret: Secret
    issuer: str
    label: str
    icon: str | None = None
    scope: tuple[str, ...] = ("openid", "email", "profile")
    trust_email: bool = False
    create: bool = True
    link: Literal["ask", "off"] = "ask"
    domain_authority: bool = False
    session_expires_in: timedelta | None = None
    tenants: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def announced_issuer(self) -> str:
        """The ``issuer`` of its discovery document, with `TENANT` for several directories."""
        several = has_several_tenants(self.preset, self.issuer)
        return _SEVERAL.sub(f"/{TENANT}", self.issuer) if several else self.issuer

    def issues(self, issuer: str) -> bool:
        """Whether an identity of this ``issuer`` is one of this provider."""
        pattern = re.escape(self.announced_issuer).replace(re.escape(TENANT), _GUID)
        return re.fullmatch(pattern, issuer) is not None


def has_several_tenants(preset: Preset, issuer: str) -> bool:
    """Whether users of several directories of Microsoft Entra may come from a provider."""
    return preset == "microsoft" and _SEVERAL.search(issuer) is not None


def _key(
    name: str, parse: Callable[[str], object], text: str, default: str | None = None
) -> tuple[str, Definition]:
    key = f"{PREFIX}providers.<name>.{name}"
    return name, Definition(parse, default, text, key=key, secret=name == "client-secret")


PROVIDER: Mapping[str, Definition] = dict(
    [
        _key(
            "preset",
            provider_values.preset(*PRESETS),
            "What kind of provider it is: `google`, `microsoft`, `github`, `gitlab` or `oidc` (any"
            " other with OpenID Connect). By default its name, if that is one of these, else"
            " `oidc`.",
        ),
        _key(
            "client-id",
            values.printable(512),
            "The client id that the provider gave to authsite. Required. The redirect URI to"
            " register there is `<base-url>/login/with/<name>/return`; `authsite doctor` prints"
            " it.",
        ),
        _key(
            "client-secret",
            provider_values.client_secret,
            "The client secret that the provider gave to authsite. Required.",
        ),
        _key(
            "issuer",
            provider_values.issuer,
            "The URL of the provider, as its discovery document names it, character by character."
            " By default that of the preset; required for `oidc`. For one directory of Microsoft"
            " Entra `https://login.microsoftonline.com/<tenant id>/v2.0`; for GitHub Enterprise"
            " the address of its pages. https, or http on this machine.",
        ),
        _key(
            "label",
            values.single_line(60),
            "The text of its button, as in *Continue with Google*. By default the name of the"
            " preset's provider, or `<name>`.",
        ),
        _key(
            "icon",
            urls.icon,
            "The picture of its button: the name of a file in `static-folder`, or a path on our"
            " host. By default that of the preset.",
        ),
        _key(
            "scope",
            values.list_of(values.scope),
            "List of the scopes that are asked for. By default `openid email profile`; `read:user"
            " user:email` with `github`.",
        ),
        _key(
            "trust-email",
            values.boolean,
            "Whether an address that this provider says is verified needs no mail of ours to prove"
            " it. By default on with `google` and `github`, else off.",
        ),
        _key(
            "create",
            values.boolean,
            "Whether a person without an account may register with this provider; never more than"
            " `registration` allows.",
            "on",
        ),
        _key(
            "link",
            provider_values.link,
            "`ask`: a person whose address has an account is asked to prove that it is theirs, and"
            " the provider is linked to it. `off`: only on the account page.",
            "ask",
        ),
        _key(
            "domain-authority",
            values.boolean,
            "Whether the provider is the directory of all domains in `registration-domains` and"
            " `domains`, so that it may say who has an address there. Google (for a Workspace"
            " domain) and Microsoft Entra (for a verified domain) say so themselves.",
            "off",
        ),
        _key(
            "session-expires-in",
            duration(CENTURY),
            "How long a sign-in with this provider lasts at most, and all that comes from it:"
            " tokens of applications and devices, with `offline_access` too, and personal access"
            " tokens. By default there is no limit of this kind. It is the time after which a"
            " person who left the company is signed out.",
        ),
        _key(
            "tenants",
            provider_values.tenants,
            "List of the directories of Microsoft Entra whose users may come, as tenant ids, or"
            " `*` for all. Required with `microsoft`, unless `issuer` names one directory.",
        ),
        _key(
            "domains",
            domains,
            "List of the domains of e-mail addresses that may come from this provider. By default"
            " all. Every sign-in needs a verified address of them that the provider tells at that"
            " sign-in, else the person has to open a mailed link; see [your company's"
            " provider](sign-in-company.md#3-decide-what-you-believe-of-it). No other provider may"
            " have the same issuer.",
        ),
        _key(
            "extra",
            provider_values.extra,
            "List of further parameters of the authorization request, such as `hd=corp.example`;"
            " values as they are, not percent-encoded.",
        ),
    ]
)


@dataclass(frozen=True, kw_only=True)
class Providers:
    """Sign in with other providers."""

    # The setting has the names; `load` makes the values of them and of `PROVIDER`.
    providers: tuple[Provider, ...] = field(
        metadata={
            METADATA: Definition(
                provider_values.names,
                "",
                "List of the names of other providers with which users may sign in, in the order of"
                " their buttons, such as `google github corp`; see [Google](sign-in-google.md),"
                " [Microsoft Entra](sign-in-entra.md) and [your company's"
                " provider](sign-in-company.md). A name has the characters `a-z` and `0-9`, at most"
                " 32.",
            )
        }
    )
