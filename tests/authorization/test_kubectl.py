"""kubectl with kubelogin, as docs/connect-kubernetes.md sets it up: RFC 8252, section 7.3.

`Tool` sends what kubelogin sends, and `Listener` is where it waits for the browser. `claims_of` and
`user_of` check and read an ID token as the API server does, with the flags of the page.
"""

import shlex
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import jwt
import pytest
import yaml

from authsite.oauth.codes.redeem import s256
from tests.support import guides
from tests.support.authorizing import BASE, VERIFIER, log_in, press, target_of
from tests.support.in_process import Commands
from tests.support.pages import csrf_of

PAGE = "connect-kubernetes"
FLAGS = dict(
    word.removeprefix("--").split("=", 1)
    for block in guides.blocks(PAGE)
    if "kube-apiserver" in block.text
    for word in block.text.split()
    if word.startswith("--")
)
ARGUMENTS = next(
    yaml.safe_load(block.text)["users"][0]["user"]["exec"]["args"]
    for block in guides.blocks(PAGE)
    if "oidc-login" in block.text
)
SCOPES = [each.split("=")[1] for each in ARGUMENTS if each.startswith("--oidc-extra-scope=")]


@pytest.fixture
def commands(issuer, ann, tmp_path):
    """The commands on a site whose one user is among the developers."""
    made = Commands(issuer, tmp_path, base_url=BASE)
    made.run("group", "create", "developers", "--title", "Developers")
    made.run("group", "add", "developers", ann.email)
    return made


@pytest.fixture
def client_id(commands):
    """The id of the client that the page makes."""
    (text,) = (block.text for block in guides.commands(PAGE))
    words = shlex.split(text.replace("\\\n", " "))
    assert words[0] == "authsite"
    return commands.json(*words[1:])["client_id"]


class Listener(HTTPServer):
    """Where the browser brings the answer to, at a port that was free."""

    def __init__(self):
        self.answers = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.answers.append(dict(parse_qsl(urlsplit(self.path).query)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Authenticated")

    def log_message(self, *_):
        """Nothing: what goes wrong is in the answers."""


class Tool:
    """One run of the program; without a cookie of the browser."""

    def __init__(self, site, client_id):
        self.site, self.client_id = site, client_id
        site.http.reset()
        self.server = site.http.get(f"{BASE}/.well-known/openid-configuration").json

    def address(self, redirect_uri):
        """The URL that it opens in the browser."""
        sent = {
            "access_type": "offline",
            "client_id": self.client_id,
            "code_challenge": s256(VERIFIER),
            "code_challenge_method": "S256",
            "nonce": "no-1",
            "redirect_uri": redirect_uri,
            "response_type": "code",
            "scope": " ".join([*SCOPES, "openid"]),
            "state": "st-1",
        }
        return f"{self.server['authorization_endpoint']}?{urlencode(sent)}"

    def tokens(self, **form):
        """At the token endpoint: first with Basic and no secret, then with the parameter."""
        path = self.server["token_endpoint"]
        self.site.http.authorization = ("Basic", (self.client_id, ""))
        self.site.http.post(path, form, status=401)
        self.site.http.authorization = None
        return self.site.http.post(path, {"client_id": self.client_id, **form}).json


def claims_of(site, client_id, id_token):
    """What an ID token says, which the API server checks with the keys of the issuer."""
    found = site.http.get(f"{BASE}/.well-known/openid-configuration").json
    keys = jwt.PyJWKSet.from_dict(site.http.get(found["jwks_uri"]).json)
    key = keys[jwt.get_unverified_header(id_token)["kid"]]
    return jwt.decode(id_token, key, algorithms=["RS256"], audience=client_id, issuer=BASE)


def user_of(claims):
    """Name and groups of the user, as the API server reads them with the flags of the page."""
    assert claims["email_verified"] is True  # else the API server refuses an address
    name, groups = claims[FLAGS["oidc-username-claim"]], claims[FLAGS["oidc-groups-claim"]]
    assert isinstance(groups, list)
    return FLAGS["oidc-username-prefix"] + name, [FLAGS["oidc-groups-prefix"] + g for g in groups]


def allow(site, tool, host="localhost"):
    """What the tool sends for tokens, after the user has signed in and pressed the button."""
    with Listener() as listener:
        uri = f"http://{host}:{listener.server_port}"
        page = press(site, log_in(site, site.http.get(tool.address(uri), status="*")))
        target = target_of(page)
        assert target.startswith(f"{uri}?code=")
        assert httpx.get(target).text == "Authenticated"  # as the browser does
        (got,) = listener.answers
    assert (got["state"], got["iss"]) == ("st-1", BASE)
    code = {"code": got["code"], "redirect_uri": uri, "code_verifier": VERIFIER}
    return {"grant_type": "authorization_code", **code}


def test_kubectl_gets_id_tokens_that_the_api_server_reads(issuer, client_id):
    tool = Tool(issuer, client_id)
    got = tool.tokens(**allow(issuer, tool))
    claims = claims_of(issuer, client_id, got["id_token"])
    assert claims["nonce"] == "no-1"
    assert user_of(claims) == ("authsite:ann@example.com", ["authsite:developers"])
    assert claims["exp"] - claims["iat"] == 3600


def test_the_next_hour_needs_no_browser_and_knows_the_groups_of_then(
    frozen, issuer, commands, client_id
):
    frozen.at = datetime.now(UTC) - timedelta(minutes=90)
    tool = Tool(issuer, client_id)
    got = tool.tokens(**allow(issuer, tool))
    with pytest.raises(jwt.ExpiredSignatureError):
        claims_of(issuer, client_id, got["id_token"])
    frozen.advance(3600)
    commands.run("group", "remove", "developers", "ann@example.com")
    shown = issuer.http.get(f"{BASE}/logout")
    issuer.http.post(f"{BASE}/logout", {"csrf_token": csrf_of(shown)}, status=303)
    got = tool.tokens(grant_type="refresh_token", refresh_token=got["refresh_token"])
    claims = claims_of(issuer, client_id, got["id_token"])
    assert user_of(claims) == ("authsite:ann@example.com", [])


def test_a_tool_that_calls_the_computer_by_its_number_has_its_own_redirect_uri(issuer, commands):
    """kubelogin with --oidc-redirect-url or another tool: RFC 8252, section 8.3."""
    made = "client", "create", "--name", "K", "--type", "native"
    client_id = commands.json(*made, "--redirect-uri", "http://127.0.0.1")["client_id"]
    tool = Tool(issuer, client_id)
    assert tool.tokens(**allow(issuer, tool, "127.0.0.1"))["id_token"]
    refused = issuer.http.get(tool.address("http://localhost:8000"), status=400)
    assert "127.0.0.1" not in refused.text
