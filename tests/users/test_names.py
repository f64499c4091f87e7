"""Names of people and things: taken in every language, stored in one form, found in any."""

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import select

from authsite.admin import reasons
from authsite.admin.guard import COMMAND
from authsite.admin.users.search import Wanted, search
from authsite.cli import authsite
from authsite.groups import service as groups
from authsite.oauth.clients import service as clients
from authsite.platform.command_line.shared import reason_option
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import translate
from authsite.platform.settings import SettingsError, load
from authsite.platform.settings.values import mailbox
from authsite.sign_in.methods.passkeys import stored as names
from authsite.sign_in.methods.provider.people import usable_name
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.in_process import write_ini
from tests.support.site import SECRET, bearer

PERSIAN = "علی\u200cرضا محمدی"
SINHALA = "ශ්\u200dරී"
FAMILY = "👩\u200d👩\u200d👧"
GOOD = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
CLIENTS = ("Émile’s Shop", "Ангела", "Other")
NAMED = "U+202E (RIGHT-TO-LEFT OVERRIDE)"


def register(site, name, status=201, email="bo@example.com"):
    return site.http.post_json(
        "/v1/register", {**GOOD, "email": email, "name": name}, status=status
    )


def token_of(site):
    keys = site.client("password", scope="account", default_scope="account")
    return site.login(keys, "bo@example.com", GOOD["password"])["access_token"]


@pytest.mark.parametrize("name", [PERSIAN, SINHALA, FAMILY])
def test_a_person_registers_and_changes_the_name_in_every_language(site, name):
    assert register(site, name).json["name"] == name
    token = token_of(site)
    changed = site.http.patch_json("/v1/user", {"name": f"X {name}"}, headers=bearer(token))
    assert changed.json["name"] == f"X {name}"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [("   ", None), ("\u3164", None), (" Jean\u00a0Luc ", "Jean Luc"), ("Jo\u0308rg", "Jörg")],
)
def test_a_name_is_stored_in_one_form_and_a_blank_one_is_none(site, sent, stored):
    assert register(site, sent).json["name"] == stored
    token = token_of(site)
    changed = site.http.patch_json("/v1/user", {"name": f"\u00a0{sent}"}, headers=bearer(token))
    assert changed.json["name"] == stored


def test_a_refused_name_tells_the_character_and_its_place(site):
    [error] = register(site, "Ann\u202eLee", 422).json["errors"]
    assert (error["field"], error["code"]) == ("name", "invalid")
    assert error["message"] == f"Leave out {NAMED}, the character at place 4."
    [error] = register(site, "Ann\nLee", 422).json["errors"]
    assert "U+000A (LINE FEED), the character at place 4" in error["message"]
    # In NFC it has three times as many characters.
    [error] = register(site, "\U0001d160" * 1000, 422).json["errors"]
    assert (error["field"], error["code"]) == ("name", "too_long")


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("Émile Zola", "émile"),
        ("Ангела Шмидт", "АНГЕЛА"),
        ("Özgür", "özgür"),
        ("Jörg", "Jo\u0308rg"),
        ("Jo\u0308rg", "jörg"),
        ("STRASSER", "straß"),
        (PERSIAN, "علیرضا"),
    ],
)
def test_an_administrator_finds_a_name_in_any_case_and_spelling(site, name, typed):
    register(site, name)
    register(site, "Somebody Else", email="di@example.com")
    ctx = acting(None, site.app.registry["authsite"])
    found = search(ctx, COMMAND, Wanted(f"name:{typed}"))
    assert [user.email for user in found.rows] == ["bo@example.com"]


@pytest.mark.both_databases
def test_a_client_is_found_in_any_case_by_its_name(site):
    for name in CLIENTS:
        site.client(name=name)
    with site.db() as db:
        for typed, name in (
            ("ÉMILE", "Émile’s Shop"),
            ("e\u0301mile", "Émile’s Shop"),
            ("гел", "Ангела"),
        ):
            assert [row.name for row in clients.search(db, 10, name=typed)[0]] == [name]


def setting(key, **more):
    def read(text):
        lines = {"authsite.secret": SECRET, f"authsite.{key}": more.get("line", "{}").format(text)}
        return more["of"](load(lines, {}))

    return read


def reason_of_command(text):
    @click.command()
    @reason_option
    def command(reason):
        click.echo(reason)

    done = CliRunner().invoke(command, ["--reason", text])
    if done.exit_code:
        raise ValueError(done.output)
    return done.output.rstrip("\n")


PLACES = {
    "passkey": names.chosen,
    "reason": lambda text: reasons.cause(COMMAND, text).reason,
    "--reason": reason_of_command,
    "site-name": setting("site-name", of=lambda cfg: cfg.site_name),
    "scopes": setting("scopes", line="a: {}", of=lambda cfg: cfg.scopes["a"]),
    "footer-links": setting(
        "footer-links", line="{}: https://a.example", of=lambda cfg: next(iter(cfg.footer_links))
    ),
    "mail-from": setting(
        "mail-from", line='"{}" <a@b.example>', of=lambda cfg: mailbox(cfg.mail_from).name
    ),
    "title": groups.title_of,
    "client": clients.name_of,
}


@pytest.mark.parametrize("place", PLACES)
def test_every_name_title_and_reason_follows_the_same_rule(place):
    read = PLACES[place]
    for name in (PERSIAN, SINHALA, FAMILY):
        assert read(name) == name
    assert read("Jo\u0308rg\u00a0X\u2003") == "Jörg X"
    with pytest.raises((ValueError, ApiError, SettingsError)) as refused:
        read("Ann\u202eLee")
    details = getattr(refused.value, "details", ())
    words = " ".join([str(refused.value), *(translate(each.message) for each in details)])
    assert NAMED in words
    assert "place 4" in words or place == "mail-from"


def test_a_provider_cannot_refuse_a_sign_in_by_a_name():
    assert usable_name(PERSIAN) == PERSIAN
    assert usable_name("Ann\u202e\nLee\u00a0") == "Ann Lee"
    assert usable_name("\u202e \u3164") is None


def test_an_import_takes_names_of_every_language_and_names_what_it_refuses(site, tmp_path):
    source = tmp_path / "users.csv"
    source.write_text(f"id,email,name\n1,a@example.com,{PERSIAN}\n2,b@example.com,B\u202eC\n")
    ini = write_ini(tmp_path / "site.ini", site.url)
    done = CliRunner().invoke(
        authsite, ["import", "csv", str(source), "--without-password", "--config", ini]
    )
    assert NAMED in done.output
    with site.db() as db:
        [user] = db.scalars(select(User))
        assert (user.name, user.folded_name) == (PERSIAN, "علیرضا محمدی")
