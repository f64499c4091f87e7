"""``authsite audit list`` and ``authsite explain``: what an operator reads at midnight."""

from datetime import timedelta
from typing import get_args
from uuid import uuid4

import pytest

from authsite import clock
from authsite.audit.events import MEANINGS, EventName
from authsite.oauth.client_auth import MAX_BASIC_LENGTH
from authsite.users.erasure import erase
from tests.support.acting import acting
from tests.support.home import initialized
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


def test_every_event_has_a_meaning():
    assert set(MEANINGS) == set(get_args(EventName))


def test_the_events_of_a_user_are_listed_by_address_or_id_and_after_the_user_is_deleted(home, site):
    user = site.user("listed@example.com")
    site.user("other@example.com")
    site.login(site.client(), "listed@example.com")
    for name in ("listed@example.com", str(user.id)):
        assert listed(home, "--user", name) == ["user.created", "token.issued"]
    assert "other@example.com" not in home.run("audit", "list", "--user", str(user.id)).stdout
    with site.db() as db:
        erase(acting(db), user.id, None)
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
    assert set(listed(home, "--event", "login")) <= {"login.failed", "login.closed"}
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
        # Each from an address of its own: a denial is recorded once an hour for an address.
        site = Site(home.url, limits="on", limits_storage="memory")
        site.http.extra_environ["REMOTE_ADDR"] = f"192.0.2.{10 + len(reasons)}"
        keys = site.client("personal", name="Nightly")
        sent = {
            "unknown": {"params": {**GRANT, "client_id": str(uuid4()), "client_secret": "x"}},
            "secret": {"params": {**GRANT, "client_id": keys.client_id, "client_secret": "x"}},
            "none": {"params": {**GRANT, "client_id": keys.client_id}},
            "header": {
                "params": GRANT,
                "headers": {"Authorization": "Basic " + "x" * (MAX_BASIC_LENGTH + 1)},
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
        "client.refused: A client could not authenticate" in each for each in reasons.values()
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
    assert "(named@example.com)" in shown
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
