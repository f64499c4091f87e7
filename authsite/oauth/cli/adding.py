"""``authsite client add``: registers an application, and prints its configuration."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from urllib.parse import urlsplit

import click

from authsite.oauth.clients import registration
from authsite.oauth.clients.fields import CONSENT, ClientFields
from authsite.oauth.models import SERVER
from authsite.platform.command_line.results import Data, result_command
from authsite.platform.command_line.shared import examples, print_facts, transaction
from authsite.platform.settings import Settings

from .clients import BY_COMMAND, ONCE, SWITCH, client, value_errors

# The applications of ``authsite client add --for``, as data: what each one needs, and its
# configuration to paste.
#
# A test runs the sign-in of each one with the printed configuration (``tests/clients``); an
# application that no test runs has a page in ``docs/`` instead. In a text, ``$url`` is the
# address of the application (of `GENERIC` its redirect URI), ``$issuer`` that of this service,
# ``$key`` the claim that names users.


KEYS = ("sub", "email")
GENERIC = "generic"
"""The application that names its redirect URIs itself, of which nothing else is known."""


@dataclass(frozen=True, slots=True)
class File:
    """A part of the application's configuration: the name of the file, and its text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Preset:
    """What ``client add`` registers for an application; paths are below its address."""

    title: str
    redirect: tuple[str, ...]
    files: tuple[File, ...]
    post_logout: tuple[str, ...] = ("/",)
    alg: str = "RS256"  # mozilla-django-oidc and others take it by default
    claims: str = "both"  # also in the ID token, which some read alone
    consent: str = "ask"  # none: a tool that a company has bought for its people
    pkce: str = "required"

    def configuration(self, values: Mapping[str, str]) -> tuple[File, ...]:
        """The files with ``client_id``, ``client_secret``, ``issuer``, ``url``, ``key`` and a new
        ``passphrase``."""
        return tuple(File(each.name, Template(each.text).substitute(values)) for each in self.files)


_FLASK = File(
    "app.py",
    """\
# pip install Authlib requests
from authlib.integrations.flask_client import OAuth

oauth = OAuth(app)
oauth.register(
    "authsite",
    client_id="$client_id",
    client_secret="$client_secret",
    server_metadata_url="$issuer/.well-known/openid-configuration",
    client_kwargs={"scope": "openid profile email", "code_challenge_method": "S256"},
)


@app.get("/sign-in")
def sign_in():
    return oauth.authsite.authorize_redirect("$url/signed-in")


@app.get("/signed-in")
def signed_in():
    user = oauth.authsite.authorize_access_token()["userinfo"]
    session["user"] = user["$key"]
    return redirect("/")


@app.post("/sign-out")
def sign_out():
    session.clear()
    # At authsite, too: it asks, and leads back.
    query = "client_id=$client_id&post_logout_redirect_uri=$url/"
    return redirect(f"$issuer/oauth/logout?{query}", 303)
""",
)
_DJANGO = (
    File(
        "settings.py",
        """\
# pip install mozilla-django-oidc
INSTALLED_APPS += ["mozilla_django_oidc"]
AUTHENTICATION_BACKENDS = ["authsite_login.Backend"]
LOGIN_URL = "oidc_authentication_init"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "$url/"
OIDC_RP_CLIENT_ID = "$client_id"
OIDC_RP_CLIENT_SECRET = "$client_secret"
OIDC_RP_SCOPES = "openid profile email"
OIDC_RP_SIGN_ALGO = "RS256"
OIDC_USE_PKCE = True
OIDC_STORE_ID_TOKEN = True
OIDC_OP_AUTHORIZATION_ENDPOINT = "$issuer/oauth/authorize"
OIDC_OP_TOKEN_ENDPOINT = "$issuer/v1/oauth/token"
OIDC_OP_USER_ENDPOINT = "$issuer/v1/oauth/userinfo"
OIDC_OP_JWKS_ENDPOINT = "$issuer/.well-known/jwks.json"
OIDC_OP_LOGOUT_URL_METHOD = "authsite_login.logout_url"
""",
    ),
    File(
        "authsite_login.py",
        '''\
from urllib.parse import urlencode

from django.conf import settings
from mozilla_django_oidc.auth import OIDCAuthenticationBackend


class Backend(OIDCAuthenticationBackend):
    """Django's users have authsite's $key as their username."""

    def verify_claims(self, claims):
        return bool(claims.get("$key"))

    def filter_users_by_claims(self, claims):
        return self.UserModel.objects.filter(username=claims["$key"])

    def get_username(self, claims):
        return claims["$key"]

    def update_user(self, user, claims):
        user.email = claims.get("email", "")
        user.save()
        return user


def logout_url(request):
    query = {
        "id_token_hint": request.session.get("oidc_id_token", ""),
        "post_logout_redirect_uri": settings.LOGOUT_REDIRECT_URL,
    }
    return f"$issuer/oauth/logout?{urlencode(query)}"
''',
    ),
    File(
        "urls.py",
        """\
from django.urls import include, path

urlpatterns += [path("oidc/", include("mozilla_django_oidc.urls"))]
""",
    ),
)
_JUPYTERHUB = File(
    "jupyterhub_config.py",
    """\
# pip install oauthenticator
c.JupyterHub.authenticator_class = "generic-oauth"
c.GenericOAuthenticator.login_service = "authsite"
c.GenericOAuthenticator.client_id = "$client_id"
c.GenericOAuthenticator.client_secret = "$client_secret"
c.GenericOAuthenticator.oauth_callback_url = "$url/hub/oauth_callback"
c.GenericOAuthenticator.authorize_url = "$issuer/oauth/authorize"
c.GenericOAuthenticator.token_url = "$issuer/v1/oauth/token"
c.GenericOAuthenticator.userdata_url = "$issuer/v1/oauth/userinfo"
c.GenericOAuthenticator.scope = ["openid", "profile", "email"]
c.GenericOAuthenticator.username_claim = "$key"
c.GenericOAuthenticator.enable_pkce = True
query = "client_id=$client_id&post_logout_redirect_uri=$url/"
c.GenericOAuthenticator.logout_redirect_url = f"$issuer/oauth/logout?{query}"
# Everyone with an account. For some people alone: authsite client update --require-group.
c.GenericOAuthenticator.allow_all = True
""",
)


def _app_builder(base: str, name: str, setting: str, role: str) -> str:
    """The configuration of an application that Flask-AppBuilder signs users in to."""
    module, _, parent = base.rpartition(".")
    imported = f"from {module} import {parent}"
    if len(imported) > 88:
        imported = f"from {module} import (\n    {parent},\n)"
    return f'''\
# pip install Authlib requests
from flask_appbuilder.security.manager import AUTH_OAUTH
{imported}


class AuthsiteSecurityManager({parent}):
    def get_oauth_user_info(self, provider, response):
        user = response["userinfo"]
        return {{
            "username": user["$key"],
            "email": user.get("email", ""),
            "first_name": user.get("name", ""),
            "last_name": "",
        }}


{setting} = AuthsiteSecurityManager
AUTH_TYPE = AUTH_OAUTH
AUTH_USER_REGISTRATION = True  # an account of {name} at the first sign-in
AUTH_USER_REGISTRATION_ROLE = "{role}"
OAUTH_PROVIDERS = [
    {{
        "name": "authsite",
        "icon": "fa-key",
        "token_key": "access_token",
        "remote_app": {{
            "client_id": "$client_id",
            "client_secret": "$client_secret",
            "server_metadata_url": "$issuer/.well-known/openid-configuration",
            "client_kwargs": {{
                "scope": "openid profile email",
                "code_challenge_method": "S256",
            }},
        }},
    }}
]
'''


_SUPERSET = File(
    "superset_config.py",
    _app_builder(
        "superset.security.SupersetSecurityManager", "Superset", "CUSTOM_SECURITY_MANAGER", "Gamma"
    ),
)
_AIRFLOW = File(
    "webserver_config.py",
    _app_builder(
        "airflow.providers.fab.auth_manager.security_manager.override"
        ".FabAirflowSecurityManagerOverride",
        "Airflow",
        "SECURITY_MANAGER_CLASS",
        "Viewer",
    ),
)
_APACHE = File(
    "authsite.conf",
    """\
# apt-get install libapache2-mod-auth-openidc && a2enmod auth_openidc
OIDCProviderMetadataURL $issuer/.well-known/openid-configuration
OIDCClientID "$client_id"
OIDCClientSecret "$client_secret"
OIDCRedirectURI $url/oidc/callback
OIDCCryptoPassphrase "$passphrase"
OIDCScope "openid profile email"
OIDCPKCEMethod S256
OIDCRemoteUserClaim $key
OIDCDefaultLoggedOutURL $url/

<Location "/">
    AuthType openid-connect
    Require valid-user
</Location>
# A link to sign out: /oidc/callback?logout=$url/
""",
)

_GENERIC = File(
    "the form of the application",
    """\
Issuer                  $issuer
Discovery or metadata   $issuer/.well-known/openid-configuration
Client id               $client_id
Client secret           $client_secret
Scopes                  openid profile email
Claim of the user       $key
Signature of ID tokens  RS256

If it does not read the metadata:

Authorization endpoint  $issuer/oauth/authorize
Token endpoint          $issuer/v1/oauth/token
Userinfo endpoint       $issuer/v1/oauth/userinfo
Keys (JWKS)             $issuer/.well-known/jwks.json
Logout (end session)    $issuer/oauth/logout
""",
)

PRESETS: Mapping[str, Preset] = {
    "airflow": Preset(
        "Apache Airflow (Flask-AppBuilder)",
        # Airflow 3, and Airflow 2
        ("/auth/oauth-authorized/authsite", "/oauth-authorized/authsite"),
        (_AIRFLOW,),
        consent="none",
    ),
    "apache": Preset(
        "Apache httpd (mod_auth_openidc)", ("/oidc/callback",), (_APACHE,), consent="none"
    ),
    "django": Preset("Django (mozilla-django-oidc)", ("/oidc/callback/",), _DJANGO),
    "flask": Preset("Flask (Authlib)", ("/signed-in",), (_FLASK,)),
    GENERIC: Preset("Any other application", (), (_GENERIC,), consent="none", pkce="optional"),
    "jupyterhub": Preset(
        "JupyterHub (oauthenticator)", ("/hub/oauth_callback",), (_JUPYTERHUB,), consent="none"
    ),
    "superset": Preset(
        "Apache Superset (Flask-AppBuilder)",
        ("/oauth-authorized/authsite",),
        (_SUPERSET,),
        consent="none",
    ),
}

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
