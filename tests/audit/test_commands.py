"""``authsite audit list`` and ``authsite explain``: what an operator reads at midnight."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from uuid import uuid4

import pytest

from authsite.oauth.clients.authentication import MAX_LENGTH
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users.models import User
from authsite.users.service import erase
from tests.support import authorizing
from tests.support.acting import acting
from tests.support.commands import CHECKOUT
from tests.support.home import OURS, initialized
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, Site

GRANT = {"grant_type": "client_credentials"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    return initialized(tmp_path_factory.mktemp("home"))


@pytest.fixture
def site(home):
    """An application on its database, with limits: without them denials are not recorded."""
    made = Site(home.url, limits="on", limits_storage="memory")
    yield made
    made.database.dispose()


def listed(home, *options):
    return [each["event"] for each in home.json("audit", "list", *options)["events"]]


def refused(site, **sent):
    """The request id of a token request whose client is refused."""
    answer = site.http.post("/v1/oauth/token", status=401, **sent)
    assert answer.json["error_description"] == "Client authentication failed"
    return answer.headers["X-Request-Id"]


def test_the_events_of_a_user_are_listed_by_address_or_id_and_after_the_user_is_deleted(home, site):
    user = site.user("listed@example.com")
    site.user("other@example.com")
    site.login(site.client(), "listed@example.com")
    for name in ("listed@example.com", str(user.id)):
        assert listed(home, "--user", name) == ["user.created", "token.issued"]
    assert "other@example.com" not in home.run("audit", "list", "--user", str(user.id)).stdout
    with site.db() as db:
        erase(acting(db, site.app.registry["authsite"]), user.id, None)
    assert listed(home, "--user", str(user.id))[-1] == "user.erased"
    gone = home.run("audit", "list", "--user", "listed@example.com", status=1)
    assert "--user" in gone.stderr


def test_the_latest_events_come_last_and_the_rest_is_counted(home, site):
    keys = site.client("personal")
    for _ in range(4):
        site.token(keys, **GRANT)
    shown = home.json("audit", "list", "--client", keys.client_id, "--limit", "3")
    assert (len(shown["events"]), shown["total"]) == (3, 5)  # with client.created
    assert [each["at"] for each in shown["events"]] == sorted(e["at"] for e in shown["events"])
    assert "2 more" in home.run("audit", "list", "--client", keys.client_id, "--limit", "3").stdout


def test_events_are_chosen_by_name_time_and_address(home, site):
    site.login(site.client(), "nobody@example.com", "wrong wrong 1", status=400)
    assert set(listed(home, "--event", "login")) <= {"login.failed", "login.locked"}
    assert listed(home, "--event", "login.failed", "--since", "5m", "--address", "192.0.2.1")
    assert listed(home, "--event", "login.failed", "--address", "192.0.2.2") == []
    tomorrow = (clock.now() + timedelta(days=1)).date().isoformat()
    assert listed(home, "--since", tomorrow) == []
    assert listed(home, "--since", "2020-01-01") != []


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--since", "yesterday", "2026-05-31"),
        ("--since", "0001-01-01T00:00+14:00", "2026-05-31"),
        ("--event", "nonsense", "login"),
        ("--client", "web", "--client"),
    ],
)
def test_a_wrong_option_says_what_is_accepted(home, option, value, said):
    assert said in home.run("audit", "list", option, value, status=1).stderr


def test_explain_says_which_check_of_a_client_failed(home):
    reasons = {}
    for name in ("unknown", "secret", "none", "header"):
        # Each from a separate address: a denial is recorded once an hour for an address.
        site = Site(home.url, limits="on", limits_storage="memory")
        site.http.extra_environ["REMOTE_ADDR"] = f"192.0.2.{10 + len(reasons)}"
        keys = site.client("personal", name="Nightly")
        sent = {
            "unknown": {"params": {**GRANT, "client_id": str(uuid4()), "client_secret": "x"}},
            "secret": {"params": {**GRANT, "client_id": keys.client_id, "client_secret": "x"}},
            "none": {"params": {**GRANT, "client_id": keys.client_id}},
            "header": {
                "params": GRANT,
                "headers": {"Authorization": "Basic " + "x" * (MAX_LENGTH + 1)},
            },
        }[name]
        reasons[name] = home.run("explain", refused(site, **sent)).stdout
        site.database.dispose()
    assert "no enabled client has this client_id" in reasons["unknown"]
    assert "the client_secret is wrong" in reasons["secret"]
    assert "(Nightly)" in reasons["secret"]
    assert "no client_secret was sent" in reasons["none"]
    assert "Basic is malformed" in reasons["header"]
    assert all(
        "client.rejected: A client could not authenticate" in each for each in reasons.values()
    )


def test_explain_names_the_user_and_has_an_object_for_scripts(home, site):
    site.user("named@example.com")
    answer = site.http.post(
        "/v1/oauth/token",
        {**site.client().form(), "grant_type": "password", "username": "named@example.com",
         "password": PASSWORD},
    )  # fmt: skip
    request_id = answer.headers["X-Request-Id"]
    shown = home.run("explain", request_id).stdout
    assert "token.issued: Tokens were issued." in shown
    assert "(named@example.com [not confirmed])" in shown
    assert answer.json["access_token"] not in shown
    [event] = home.json("explain", request_id)["events"]
    assert (event["event"], event["request_id"]) == ("token.issued", request_id)


def test_explain_says_where_to_look_for_an_id_without_an_event(home):
    assert "log" in home.run("explain", "unknown-id", status=1).stderr


def test_control_characters_of_a_caller_do_not_reach_the_terminal(home, site):
    site.user("agent@example.com")
    site.http.extra_environ["HTTP_USER_AGENT"] = "evil\x1b[2J"
    keys = site.client()
    answer = site.http.post(
        "/v1/oauth/token",
        {**keys.form(), "grant_type": "password", "username": "agent@example.com",
         "password": PASSWORD},
    )  # fmt: skip
    assert "\x1b" not in home.run("explain", answer.headers["X-Request-Id"]).stdout


FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0"


def log_in(site, keys, email, password=PASSWORD, agent=FIREFOX, status=200):
    form = {**keys.form(), "grant_type": "password", "username": email, "password": password}
    headers = {"User-Agent": agent}
    return site.http.post("/v1/oauth/token", form, headers=headers, status=status)


def test_f13_m8_people_see_who_it_was_and_with_what(home, site):
    user, keys = site.user("who@example.com"), site.client(name="Shop")
    request_id = log_in(site, keys, "who@example.com").headers["X-Request-Id"]
    shown = home.run("audit", "list", "--user", "who@example.com").stdout
    head, *_, row = shown.splitlines()
    assert head.split() == ["at", "event", "e-mail", "address", "device", "details"]
    for words in ("token.issued", "who@example.com", "192.0.2.1", "Firefox on Windows", "Shop"):
        assert words in row
    for id_ in (str(user.id), request_id, keys.client_id):
        assert id_ not in shown
    row = home.run("audit", "list", "--user", "who@example.com", "--ids").stdout.splitlines()[-1]
    for id_ in (str(user.id), request_id, keys.client_id):
        assert id_ in row
    [*_, event] = home.json("audit", "list", "--user", "who@example.com")["events"]
    assert (event["email"], event["device"]) == ("who@example.com", "Firefox on Windows")
    assert (event["client"], event["agent"]) == ("Shop", FIREFOX)


def terminal(home, *arguments):
    """The output of a command that runs on a terminal."""
    shell = shlex.join([sys.executable, "-m", "authsite", *arguments])
    environ = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    done = subprocess.run(
        ["script", "-qec", shell, "/dev/null"], capture_output=True, text=True, check=True,
        cwd=home.folder, stdin=subprocess.DEVNULL,
        env={**environ, "PYTHONPATH": str(CHECKOUT), "COLUMNS": "250", "TERM": "xterm"},
    )  # fmt: skip
    return done.stdout


@pytest.mark.skipif(shutil.which("script") is None, reason="there is no script(1)")
def test_m8_on_a_terminal_the_newest_event_comes_first(home, site):
    site.user("tty@example.com")
    log_in(site, site.client(), "tty@example.com")
    names = [
        line.split()[1]
        for line in terminal(home, "audit", "list", "--user", "tty@example.com").splitlines()
        if "tty@example.com" in line
    ]
    assert names == ["token.issued", "user.created"]


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_m8_follow_prints_what_happens_until_it_is_stopped(home, site, json_):
    site.user(f"follow{len(json_)}@example.com")
    email, keys = f"follow{len(json_)}@example.com", site.client()
    environ = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    command = [sys.executable, "-um", "authsite", "audit", "list", "--user", email, "--follow"]
    with subprocess.Popen(
        [*command, *json_], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=home.folder, env={**environ, "PYTHONPATH": str(CHECKOUT)},
    ) as following:  # fmt: skip
        stuck = threading.Timer(60, following.kill)  # else a failure here would wait for it
        stuck.start()
        lines = [following.stdout.readline()]
        log_in(site, keys, email)
        lines.append(following.stdout.readline())
        log_in(site, keys, email, "wrong", status=400)
        lines.append(following.stdout.readline())
        following.send_signal(signal.SIGINT)
        rest, errors = following.communicate()
        stuck.cancel()
    assert (following.returncode, rest, errors) == (0, "", "")
    names = ("user.created", "token.issued", "login.failed")
    for line, name in zip(lines, names, strict=True):
        assert json.loads(line)["event"] == name if json_ else f"  {name} " in line


def test_f13_the_logins_of_a_user_are_listed_with_why_they_failed(home, site):
    user, keys = site.user("logins@example.com", confirmed=True), site.client(name="Shop")
    log_in(site, keys, "logins@example.com")
    log_in(site, keys, "logins@example.com", "wrong", status=400)
    sign_in(site, "logins@example.com")
    with site.db() as db:
        db.get(User, user.id).disabled_at = clock.now()
        db.commit()
    refused = log_in(site, keys, "logins@example.com", status=400)

    shown = home.json("audit", "logins", "logins@example.com")
    assert shown["total"] == 4
    assert [(each["succeeded"], each["reason"], each["with"]) for each in shown["logins"]] == [
        (False, "disabled", "Shop"),
        (True, None, "page"),
        (False, "wrong_password", "Shop"),
        (True, None, "Shop"),
    ]
    assert shown["logins"][3]["device"] == "Firefox on Windows"
    text = home.run("audit", "logins", str(user.id)).stdout
    for words in ("failed: the user is disabled", "failed: wrong password", "succeeded", "page"):
        assert words in text
    assert "1 more" in home.run("audit", "logins", "logins@example.com", "--limit", "3").stdout
    refusal = home.run("audit", "logins", "stranger@example.com", status=1).stderr
    assert "EMAIL_OR_ID: nothing has the name or id 'stranger@example.com'" in refusal

    explained = home.run("explain", refused.headers["X-Request-Id"]).stdout
    assert "login.failed: A login failed. An administrator has disabled the user." in explained


def test_explain_says_which_check_of_a_provider_failed(home, site):
    refused = {"provider": "corp", "reason": "nonce"}
    with site.db() as db:
        row = AuditEvent(
            at=clock.now(), event="provider.refused", request_id="5f1c9a", details=refused
        )
        db.add(row)
    explained = home.run("explain", "5f1c9a").stdout
    assert "refused. The nonce of the ID token is not that of this start." in explained
    assert "provider: corp" in explained


def test_explain_says_why_an_authorization_request_was_refused(home):
    site = Site(home.url, **authorizing.OPENID)
    app = authorizing.application(site, name="Wiki")
    uri = "https://app.example.org/Callback"
    answer = authorizing.authorize(site, app, redirect_uri=uri)
    text = home.run("explain", answer.headers["X-Request-Id"]).stdout
    for said in ("(Wiki)", "is none of the client", uri, authorizing.CALLBACK, "differs: case"):
        assert said in text
    answer = authorizing.authorize(site, app, response_type="token")
    text = home.run("explain", answer.headers["X-Request-Id"]).stdout
    assert "`response_type` is not `code`" in text
    site.database.dispose()
