"""``authsite settings``: what is in effect, and where it comes from."""

import json
import os

import pytest
from click.testing import CliRunner

from authsite.cli import authsite
from authsite.platform.settings import DEFINITIONS
from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support.home import OURS
from tests.support.site import SECRET, WEB

PEPPER = "Zt5MvQ1xNbC8rWy4LkPs7DhFj2GaUe9T"


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """Run ``authsite settings …`` with a set-up that has every kind of source."""
    for name in [name for name in os.environ if name.startswith(OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.ini").write_text(
        "[app:main]\nuse = egg:authsite\n# authsite.variant = A\nauthsite.variant = B\n"
        f"authsite.clients.web.id = {WEB['clients.web.id']}\n"
        f"authsite.clients.web.secret = {WEB['clients.web.secret']}\n"
        "authsite.session-idle = 60m\nauthsite.limits.reset-token = 3/minute\n"
        "authsite.smtp-url = smtp://user:geheim@h:25\nauthsite.scopes =\n  a: first\n  b: second\n"
    )
    (tmp_path / "authsite.env").write_text(f"AUTHSITE_SECRET={SECRET}\n")
    (tmp_path / "authsite.env").chmod(0o600)
    (tmp_path / "pepper").write_text(PEPPER)
    monkeypatch.setenv("AUTHSITE_PASSWORD_PEPPER_FILE", "pepper")
    monkeypatch.setenv("AUTHSITE_BASE_URL", "https://auth.example.org/")
    monkeypatch.setenv("API_TOKEN_EXPIRES", "2")

    def run(*arguments, status=0):
        given = ["settings", *arguments, "--config", "some.ini"]
        done = CliRunner().invoke(authsite, given, prog_name="authsite")
        assert done.exit_code == status, done.output
        return done

    run.json = lambda *arguments: json.loads(run(*arguments, "--json").stdout)
    return run


def test_m21_each_setting_has_its_value_and_its_source(shown, tmp_path):
    found = {each["key"]: each for each in shown.json()["settings"]}
    assert len(DEFINITIONS) + len(RATE_LIMITS) + 2 == len(found)
    for key, value, source in (
        ("variant", "B", f"{tmp_path}/some.ini, line 4"),
        ("session-idle", "1h", f"{tmp_path}/some.ini, line 7"),
        ("base-url", "https://auth.example.org", "variable AUTHSITE_BASE_URL"),
        ("expires-in", "2d", "variable API_TOKEN_EXPIRES"),
        ("secret", "(hidden)", f"variable AUTHSITE_SECRET in {tmp_path}/authsite.env"),
        (
            "password-pepper",
            "(hidden)",
            f"file {tmp_path}/pepper (variable AUTHSITE_PASSWORD_PEPPER_FILE)",
        ),
        ("smtp-url", "(hidden)", f"{tmp_path}/some.ini, line 9"),
        ("mail-from", "no-reply@auth.example.org", "default"),
        ("registration", "on", "default"),
        ("guard-cache", "0s", "default"),
        ("family-lifetime", None, "default"),
        ("prevent-enumeration", "off", "default"),
        ("scopes", "a: first\nb: second", f"{tmp_path}/some.ini, line 10"),
        ("limits.reset-token", "3/minute", f"{tmp_path}/some.ini, line 8"),
        ("limits.login-address", "30/minute", "default"),
        ("clients.web.id", WEB["clients.web.id"], f"{tmp_path}/some.ini, line 5"),
        ("clients.web.secret", "(hidden)", f"{tmp_path}/some.ini, line 6"),
    ):
        assert found[key] == {"key": key, "value": value, "source": source}


@pytest.mark.control("K02")
def test_no_secret_is_shown(shown):
    for done in (shown(), shown("--json"), shown("secret"), shown("password-pepper", "--json")):
        for secret in (SECRET, PEPPER, "geheim", WEB["clients.web.secret"]):
            assert secret not in done.output


@pytest.mark.parametrize("key", ["session-idle", "authsite.session_idle", "SESSION.IDLE"])
def test_one_setting_is_shown_in_any_spelling(shown, key):
    assert shown.json(key)["value"] == "1h"
    table, _, text = shown(key).stdout.partition("\n\n")
    lines = table.splitlines()
    assert len(lines) == 2
    assert lines[1].split()[:2] == ["session-idle", "1h"]
    assert text.startswith("How long a browser session lasts without use.")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("limits.login-address", "Logins for each client address; with"),
        ("clients.web.secret", "Its client secret, as `authsite client create` prints it."),
        ("scopes", "see docs/scopes.md."),
    ],
)
def test_the_text_of_one_setting_is_shown(shown, key, text):
    words = " ".join(shown(key).stdout.split())
    assert text in words
    assert text not in shown().stdout


def test_an_unknown_key_is_an_error_that_suggests_one(shown):
    assert "did you mean authsite.base-url?" in shown("bse-url", status=1).stderr
    assert "clients.app.id" in shown("clients.app.id", status=1).stderr
