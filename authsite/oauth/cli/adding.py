"""``authsite client add``: registers an application, and prints its configuration."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import click

from authsite.oauth import registration
from authsite.oauth.client_fields import CONSENT, ClientFields
from authsite.oauth.models import SERVER
from authsite.platform.command_line.results import Data, result_command
from authsite.platform.command_line.shared import examples, print_facts, transaction
from authsite.platform.settings import Settings

from .client_options import SWITCH
from .clients import BY_COMMAND, ONCE, client, value_errors
from .presets import GENERIC, KEYS, PRESETS, File, Preset

# What can stand in a text of each configuration as it is.
_URL = re.compile(r"https?://[\w.\-]+(?::\d+)?(?:/[\w.~\-]+)*|https?://\[::1\](?::\d+)?", re.ASCII)
_PKCE = (
    "PKCE is optional for this application, since many cannot do it. Once people have signed in,\n"
    "`authsite client doctor {}` says whether it can: then require it."
)
_NOT_ASKED = (
    "Its users are not asked what it may do: you answer for it. To ask each of them:\n"
    "`authsite client update {} --consent ask`."
)


@dataclass(frozen=True, slots=True)
class Added:
    """The client's credentials, a ``note``, and the parts of the application's configuration."""

    credentials: Data
    files: Sequence[File]
    note: str | None = None

    @property
    def data(self) -> Data:
        """With ``files``: a list of ``name`` and ``text``; and ``note``, if there is one."""
        texts = [{"name": each.name, "text": each.text} for each in self.files]
        note = {"note": self.note} if self.note else {}
        return {**self.credentials, "files": texts, **note}

    def show(self) -> None:
        """Print the credentials and the note, and each part below the name of its file."""
        print_facts("The client's credentials:", {k: str(v) for k, v in self.credentials.items()})
        click.echo(ONCE)
        if self.note:
            click.echo(f"\n{self.note}")
        for each in self.files:
            click.echo(f"\nFor {each.name}:\n\n{each.text.rstrip()}")


@client.command(
    epilog=examples(
        "authsite client add --for jupyterhub --url https://hub.example.org",
        "authsite client add --for django --url https://app.example.org --user-key email",
        "authsite client add --for generic --url https://tool.example.org/oauth/callback",
    )
)
@click.option(
    "--for",
    "application",
    required=True,
    type=click.Choice(list(PRESETS)),
    help=" ".join(f"{name}: {preset.title}." for name, preset in PRESETS.items()),
)
@click.option(
    "--url",
    "urls",
    required=True,
    multiple=True,
    help="The address of the application, without a path. generic: its redirect URI, which the "
    "application names; give it again for more.",
)
@click.option("--name", help="Display name. Default: that of the application; generic: its host.")
@click.option(
    "--user-key",
    type=click.Choice(KEYS),
    default=KEYS[0],
    show_default=True,
    help="By what the application knows its users: sub is the id, which never changes; email is "
    "the confirmed address, which a person can change.",
)
@click.option("--require-group", metavar="GROUP", help="Only members of this group.")
@click.option(
    "--consent",
    type=click.Choice(CONSENT),
    help="Whether each user is asked. Default: none for a tool, ask for an application of yours "
    "(django, flask).",
)
@click.option("--first-party", type=SWITCH, help="Your own application; see `client create`.")
@result_command
def add(
    cfg: Settings,
    application: str,
    urls: Sequence[str],
    name: str | None,
    user_key: str,
    require_group: str | None,
    consent: str | None,
    first_party: str | None,
) -> Added:
    """Register an application.

    It prints the configuration to paste there.

    The redirect URIs, the algorithm and the claims are those that the application needs. Everything
    can be changed later with `authsite client update`.
    """
    preset = PRESETS[application]
    is_generic = application == GENERIC
    url = urls[0] if is_generic else _address(urls)
    redirects, post_logout = _of_redirect_uris(urls) if is_generic else _below(url, preset)
    fields = ClientFields(
        redirect_uris=redirects,
        post_logout_redirect_uris=post_logout,
        id_token_signed_response_alg=preset.alg,
        id_token_claims=preset.claims,
        pkce=preset.pkce,
        consent=consent or preset.consent,
        first_party=None if first_party is None else first_party == "on",
        require_group=require_group,
    )
    title = urlsplit(url).hostname if is_generic else preset.title
    issuer = _issuer(cfg)
    with transaction(cfg) as ctx, value_errors():
        made, secret = registration.register(
            ctx, name or title or "", SERVER, fields=fields, cause=BY_COMMAND
        )
    credentials = {
        "client_id": str(made.id),
        "name": made.name,
        "type": made.type,
        "redirect_uris": " ".join(redirects),
        "client_secret": secret or "",
    }
    values = {
        **{key: str(credentials[key]) for key in ("client_id", "client_secret")},
        "issuer": issuer,
        "url": url,
        "key": user_key,
        "passphrase": secrets.token_urlsafe(32),
    }
    notes = [_PKCE.format(made.id)] if preset.pkce == "optional" else []
    if fields.consent == "none":
        notes.append(_NOT_ASKED.format(made.id))
    return Added(credentials, preset.configuration(values), "\n\n".join(notes) or None)


def _address(urls: Sequence[str]) -> str:
    """The address of a known application. Raises `click.BadParameter`."""
    url = urls[0].rstrip("/")
    if len(urls) > 1 or not _URL.fullmatch(url):
        raise click.BadParameter(
            "give the one address of the application, such as https://app.example.org",
            param_hint="--url",
        )
    return url


def _below(url: str, preset: Preset) -> tuple[list[str], list[str]]:
    """Redirect URIs and those after a logout of a known application."""
    return [url + path for path in preset.redirect], [url + path for path in preset.post_logout]


def _of_redirect_uris(urls: Sequence[str]) -> tuple[list[str], list[str]]:
    """The same of another application.

    After a logout some lead to their redirect URI (Streamlit), the others to their first page.
    Raises `click.BadParameter`.
    """
    try:
        parts = [urlsplit(each) for each in urls]
    except ValueError:
        parts = []
    if not all(each.scheme and each.netloc and each.path for each in parts) or not parts:
        raise click.BadParameter(
            "give the whole redirect URI, as the application or its manual names it, such as "
            "https://tool.example.org/oauth/callback",
            param_hint="--url",
        )
    hosts = dict.fromkeys(f"{each.scheme}://{each.netloc}" for each in parts)
    return list(urls), [*urls, *(host + end for host in hosts for end in ("/", ""))]


def _issuer(cfg: Settings) -> str:
    """The address that the application asks. Raises a `click.ClickException` without one."""
    from authsite.oauth.oidc.availability import is_on_with, why_off

    if is_on_with(cfg, standalone=True) and cfg.base_url:
        return cfg.base_url[0]
    raise click.ClickException(f"applications cannot sign people in here: {why_off(cfg)}")
