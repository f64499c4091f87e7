"""``authsite client add``: registers an application, and prints its configuration."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import click

from authsite.oauth import registration
from authsite.oauth.client_fields import ClientFields
from authsite.oauth.models import SERVER
from authsite.platform.command_line.results import Data, result_command
from authsite.platform.command_line.shared import examples, print_facts, transaction
from authsite.platform.settings import Settings

from .clients import BY_COMMAND, ONCE, client, value_errors
from .presets import KEYS, PRESETS, File

# What can stand in a text of each configuration as it is.
_URL = re.compile(r"https?://[\w.\-]+(?::\d+)?(?:/[\w.~\-]+)*|https?://\[::1\](?::\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Added:
    """The client's credentials, and the parts of the application's configuration."""

    credentials: Data
    files: Sequence[File]

    @property
    def data(self) -> Data:
        """With ``files``: a list of ``name`` and ``text``."""
        texts = [{"name": each.name, "text": each.text} for each in self.files]
        return {**self.credentials, "files": texts}

    def show(self) -> None:
        """Print the credentials, and each part below the name of its file."""
        print_facts("The client's credentials:", {k: str(v) for k, v in self.credentials.items()})
        click.echo(ONCE)
        for each in self.files:
            click.echo(f"\nFor {each.name}:\n\n{each.text.rstrip()}")


@client.command(
    epilog=examples(
        "authsite client add --for jupyterhub --url https://hub.example.org",
        "authsite client add --for django --url https://app.example.org --user-key email",
    )
)
@click.option(
    "--for",
    "application",
    required=True,
    type=click.Choice(list(PRESETS)),
    help=" ".join(f"{name}: {preset.title}." for name, preset in PRESETS.items()),
)
@click.option("--url", required=True, help="The address of the application, without a path.")
@click.option("--name", help="Display name. Default: that of the application.")
@click.option(
    "--user-key",
    type=click.Choice(KEYS),
    default=KEYS[0],
    show_default=True,
    help="By what the application knows its users: sub is the id, which never changes; email is "
    "the confirmed address, which a person can change.",
)
@result_command
def add(cfg: Settings, application: str, url: str, name: str | None, user_key: str) -> Added:
    """Register a known application.

    It prints the configuration to paste there.

    The redirect URIs, the algorithm and the claims are those that the application needs. Everything
    can be changed later with `authsite client update`.
    """
    preset, url = PRESETS[application], url.rstrip("/")
    if not _URL.fullmatch(url):
        raise click.BadParameter(
            "give the address of the application, such as https://app.example.org",
            param_hint="--url",
        )
    fields = ClientFields(
        redirect_uris=[url + path for path in preset.redirect],
        post_logout_redirect_uris=[url + path for path in preset.post_logout],
        id_token_signed_response_alg=preset.alg,
        id_token_claims=preset.claims,
    )
    issuer = _issuer(cfg)
    with transaction(cfg) as ctx, value_errors():
        made, secret = registration.register(
            ctx, name or preset.title, SERVER, fields=fields, cause=BY_COMMAND
        )
    credentials = {
        "client_id": str(made.id),
        "name": made.name,
        "type": made.type,
        "redirect_uris": " ".join(fields.redirect_uris or ()),
        "client_secret": secret or "",
    }
    values = {
        **{key: str(credentials[key]) for key in ("client_id", "client_secret")},
        "issuer": issuer,
        "url": url,
        "key": user_key,
        "passphrase": secrets.token_urlsafe(32),
    }
    return Added(credentials, preset.configuration(values))


def _issuer(cfg: Settings) -> str:
    """The address that the application asks. Raises a `click.ClickException` without one."""
    from authsite.oauth.oidc.availability import is_on_with, why_off

    if is_on_with(cfg, standalone=True) and cfg.base_url:
        return cfg.base_url[0]
    raise click.ClickException(f"applications cannot sign people in here: {why_off(cfg)}")
