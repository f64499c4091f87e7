"""Products whose first try is `authsite client add --for generic`, with nothing else to set."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.installed import clean_environ

APPS = Path(__file__).parent / "apps"
NAME = "Ann Lee"


@pytest.fixture
def ann(person):
    return person(name=NAME)


@pytest.fixture(scope="module")
def streamlit(place, environment):
    """The address of a page that `st.login` protects."""
    program = environment("streamlit") / "streamlit"
    party = place.relying_party("streamlit")
    callback = f"{party.url}/oauth2callback"
    made = place.generic(callback)
    secrets = {
        "redirect_uri": callback,
        "cookie_secret": os.urandom(32).hex(),
        "client_id": made["client_id"],
        "client_secret": made["client_secret"],
        "server_metadata_url": f"{place.issuer}/.well-known/openid-configuration",
    }
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in secrets.items()]
    (party.folder / ".streamlit").mkdir()
    (party.folder / ".streamlit/secrets.toml").write_text(f"[auth]\n{''.join(lines)}")
    options = ["--server.headless=true", "--browser.gatherUsageStats=false"]
    address = [f"--server.port={party.port}", "--server.address=127.0.0.1"]
    command = [program, "run", APPS / "streamlit_app.py", *options, *address]
    with party.running(command):
        yield party.url


def test_streamlit_knows_who_has_signed_in_and_signs_out(streamlit, ann):
    ann.page.goto(streamlit)
    ann.page.get_by_role("button", name="Sign in").click()
    ann.sign_in()
    ann.allow()
    ann.at(f"{streamlit}/")
    ann.page.get_by_text(f"user: {ann.id}, {NAME}, {ann.email}").wait_for()

    ann.page.get_by_role("button", name="Sign out").click()
    ann.at(f"{streamlit}/")  # it comes back by its redirect URI, which is registered for that, too
    ann.page.get_by_role("button", name="Sign in").wait_for()
    assert not ann.is_signed_in()


@pytest.fixture(scope="module")
def express(place, node_environment):
    """The address of an application with Auth.js."""
    folder = node_environment("authjs")
    party = place.relying_party("authjs")
    made = place.generic(f"{party.url}/auth/callback/authsite")
    keys = {name: made[name] for name in ("client_id", "client_secret")}
    about = {"issuer": place.issuer, "port": party.port, "secret": os.urandom(32).hex(), **keys}
    with party.running(["node", folder / "app.mjs"], APP=json.dumps(about)):
        yield party.url


def test_auth_js_knows_who_has_signed_in(express, ann):
    ann.page.goto(f"{express}/auth/signin")
    ann.page.locator("form[action$='/signin/authsite'] button").click()
    ann.sign_in()
    ann.allow()
    ann.page.wait_for_url(lambda url: url.startswith(express) and "/auth/callback/" not in url)
    ann.page.goto(f"{express}/")
    assert json.loads(ann.text())["user"] == {"id": ann.id, "name": NAME, "email": ann.email}


@pytest.fixture(scope="module")
def homeserver(place, environment):
    """The address of a homeserver of Matrix."""
    python = environment("synapse") / "python"
    party = place.relying_party("synapse")
    made = place.generic(f"{party.url}/_synapse/client/oidc/callback")
    variables = {
        "PORT": str(party.port),
        "ISSUER": place.issuer,
        "CLIENT_ID": made["client_id"],
        "CLIENT_SECRET": made["client_secret"],
    }
    synapse = [python, "-m", "synapse.app.homeserver", "--config-path", "homeserver.yaml"]
    for command in ([python, APPS / "homeserver.py"], [*synapse, "--generate-keys"]):
        environ = clean_environ(**variables)
        subprocess.run(command, cwd=party.folder, env=environ, check=True, capture_output=True)
    with party.running(synapse):
        yield party.url


def test_synapse_knows_who_has_signed_in(homeserver, ann):
    client, back = f"{homeserver}/_matrix/client/v3", f"{homeserver}/_matrix/client/versions"
    ann.page.goto(f"{client}/login/sso/redirect/oidc-authsite?redirectUrl={back}")
    ann.sign_in()
    ann.allow()
    ann.at(back)
    token = httpx.URL(ann.page.url).params["loginToken"]
    with httpx.Client(base_url=client) as matrix:
        entered = matrix.post("/login", json={"type": "m.login.token", "token": token}).json()
        user, headers = entered["user_id"], {"Authorization": f"Bearer {entered['access_token']}"}
        # Without a username preferred_username is the confirmed address.
        assert user == f"@{ann.email.replace('@', '=40')}:localhost"
        assert matrix.get(f"/profile/{user}/displayname").json() == {"displayname": NAME}
        addresses = matrix.get("/account/3pid", headers=headers).json()["threepids"]
        assert [each["address"] for each in addresses] == [ann.email]
