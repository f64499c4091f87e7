"""``authsite client add``: registers an application as the pages docs/connect-….md show it."""

import ast
import re

import pytest

from authsite.oauth.cli.adding import GENERIC, PRESETS
from tests.support import guides
from tests.support.in_process import Commands

ISSUER = "https://auth.example.org"
URL = "https://app.example.org"
PAGES = {
    "airflow": "connect-airflow",
    "apache": "connect-apache",
    "django": "connect-django",
    "flask": "connect-flask",
    "jupyterhub": "connect-jupyterhub",
    "superset": "connect-superset",
}
REDIRECT = f"{URL}/oauth2/callback"


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path, base_url=ISSUER)


def add(commands, name, *more):
    return commands.json("client", "add", "--for", name, "--url", URL, *more)


def neutral(text):
    """Without what is new each time."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r'(?<=")[\w-]{43}(?=")', "SECRET", text)
    return re.sub(r"the secret that was printed|a long random text", "SECRET", text)


def test_every_preset_has_a_page():
    assert {*PAGES, GENERIC} == PRESETS.keys()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_shows_what_the_command_prints(commands, name):
    made = add(commands, name)
    shown = guides.blocks(PAGES[name])
    [command] = [each.text for each in shown if each.language == "sh"]
    assert command == f"authsite client add --for {name} --url {URL}\n"
    found = {each.title: neutral(each.text) for each in shown if each.title}
    assert found == {each["name"]: neutral(each["text"]) for each in made["files"]}


@pytest.mark.parametrize("name", PAGES)
def test_the_client_is_what_the_application_needs(commands, name):
    made = add(commands, name)
    client = commands.json("client", "show", made["client_id"])
    assert client["type"] == "server"
    assert client["redirect_uris"] == [URL + path for path in PRESETS[name].redirect]
    assert client["post_logout_redirect_uris"] == [f"{URL}/"]
    assert client["pkce"] == "required"
    assert client["id_token_claims"] == "both"
    assert client["consent"] == ("ask" if name in ("django", "flask") else "none")
    assert client["first_party"] is False
    texts = "".join(each["text"] for each in made["files"])
    assert made["client_id"] in texts
    assert made["client_secret"] in texts
    assert ISSUER in texts
    assert "$" not in texts


@pytest.mark.parametrize("name", PAGES)
def test_the_files_say_where_the_keys_are_and_which_algorithm_it_is(commands, name):
    """An application that has to be told expects HS256, or looks for no keys."""
    made = add(commands, name)
    shown = commands.json("client", "show", made["client_id"])
    assert shown["id_token_signed_response_alg"] == "RS256"
    texts = "".join(each["text"] for each in made["files"])
    by_hand = 'OIDC_RP_SIGN_ALGO = "RS256"' in texts and "/.well-known/jwks.json" in texts
    # JupyterHub verifies no ID token: it asks userinfo, over https, with the token it has just got.
    asks = f"{ISSUER}/v1/oauth/userinfo" in texts and name == "jupyterhub"
    assert f"{ISSUER}/.well-known/openid-configuration" in texts or by_hand or asks


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("key", ["sub", "email"])
def test_users_are_known_by_the_id_or_by_the_address(commands, name, key):
    made = add(commands, name, "--user-key", key)
    texts = {each["name"]: each["text"] for each in made["files"]}
    for file, text in texts.items():
        if file.endswith(".py"):
            ast.parse(text)
    quoted = re.compile(rf'["\s]{key}["\s]')
    assert any(quoted.search(text) for text in texts.values())


def test_any_other_application_gets_what_most_of_them_need(commands):
    other = "https://tool.example.org:8443/callback"
    made = add_generic(commands, REDIRECT, other)
    client = commands.json("client", "show", made["client_id"])
    assert client["type"] == "server"
    assert client["name"] == "app.example.org"
    assert client["redirect_uris"] == [REDIRECT, other]
    # Streamlit leads to its redirect URI after a logout, others to their first page.
    assert {REDIRECT, f"{URL}/", URL} <= set(client["post_logout_redirect_uris"])
    assert client["id_token_claims"] == "both"
    assert (client["consent"], client["pkce"]) == ("none", "optional")
    [file] = made["files"]
    for shown in (ISSUER, f"{ISSUER}/.well-known/openid-configuration", made["client_secret"]):
        assert shown in file["text"]
    assert f"client doctor {made['client_id']}" in made["note"]
    text = commands.run("client", "add", "--for", "generic", "--url", REDIRECT).output
    assert "PKCE is optional for this application" in text
    assert "Its users are not asked what it may do" in text
    asking = ("--for", "generic", "--consent", "ask", "--url", REDIRECT)
    assert "not asked" not in commands.run("client", "add", *asking).output
    assert "note" not in add(commands, "flask")


def add_generic(commands, *urls):
    given = [text for url in urls for text in ("--url", url)]
    return commands.json("client", "add", "--for", "generic", *given)


@pytest.mark.parametrize("url", [URL, "tool.example.org/callback", "/callback", "https://[x/cb"])
def test_the_redirect_uri_of_another_application_is_whole(commands, url):
    done = commands.run("client", "add", "--for", "generic", "--url", url, status=2)
    assert "https://tool.example.org/oauth/callback" in done.output
    assert commands.json("client", "list")["total"] == 0


def test_a_known_application_has_one_address(commands):
    twice = ("--url", URL, "--url", REDIRECT)
    done = commands.run("client", "add", "--for", "flask", *twice, status=2)
    assert "the one address" in done.output


def test_the_questions_of_who_may_and_who_is_asked_have_options(commands):
    commands.json("group", "create", "staff", "--title", "Staff")
    more = ("--require-group", "staff", "--consent", "ask", "--first-party", "on")
    made = add(commands, "airflow", *more)
    client = commands.json("client", "show", made["client_id"])
    assert (client["require_group"], client["consent"]) == ("staff", "ask")
    assert client["first_party"] is True
    done = commands.run(
        "client", "add", "--for", "airflow", "--url", URL, "--require-group", "x", status=1
    )
    assert "group" in done.output


def test_people_read_the_credentials_and_each_file(commands):
    done = commands.run("client", "add", "--for", "django", "--url", f"{URL}/", "--name", "Shop")
    assert "For settings.py:" in done.output
    assert "OIDC_RP_SIGN_ALGO" in done.output
    assert "The secret is shown this once" in done.output
    assert f"{URL}/oidc/callback/" in done.output


@pytest.mark.parametrize(
    "url", ["app.example.org", "ftp://app.example.org", 'https://a"b', "https://a b", "https://a?b"]
)
def test_what_is_no_address_is_refused(commands, url):
    done = commands.run("client", "add", "--for", "flask", "--url", url, status=2)
    assert "https://app.example.org" in done.output
    assert commands.json("client", "list")["total"] == 0


def test_plain_http_is_for_this_machine_alone(commands):
    given = ("client", "add", "--for", "flask", "--url")
    done = commands.run(*given, "http://app.example.org", status=1)
    assert "https" in done.output
    assert commands.json("client", "list")["total"] == 0
    assert commands.json(*given, "http://127.0.0.1:8000")["client_id"]


def test_without_openid_connect_the_command_says_why(site, tmp_path):
    commands = Commands(site, tmp_path, base_url=ISSUER, openid="off")
    done = commands.run("client", "add", "--for", "flask", "--url", URL, status=1)
    assert "openid" in done.output


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"base_url": ""}, "set it to the address of this service, such as https://"),
        ({"base_url": "http://auth.example.org"}, "set it to the address of this service"),
        ({"openid": "off"}, "set it to on"),
    ],
)
def test_where_nobody_can_sign_in_the_commands_say_what_to_set(site, tmp_path, settings, advice):
    commands = Commands(site, tmp_path, **{"base_url": ISSUER, **settings})
    refused = commands.run("client", "add", "--for", "flask", "--url", URL, status=1)
    assert advice in refused.output
    create = ("client", "create", "--name", "Wiki", "--redirect-uri", f"{URL}/callback")
    made = commands.run(*create, "--type", "server").output
    assert "It cannot sign people in yet" in made
    assert advice in made
