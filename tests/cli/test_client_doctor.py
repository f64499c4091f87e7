"""``authsite client doctor``: what an operator reads when the sign-in of an application fails."""

import pytest
from sqlalchemy import text
from webtest.http import StopableWSGIServer

from tests.support.authorizing import press
from tests.support.in_process import Commands
from tests.support.pages import sign_in
from tests.support.servers import free_port

APP = "http://localhost:9000"


class Doctor:
    """A running authsite, with commands on its database; ``client`` is an id."""

    def __init__(self, site, commands):
        self.site, self.commands = site, commands
        made = commands.json(
            "client", "create", "--name", "Orders", "--type", "server",
            "--redirect-uri", f"{APP}/callback",
        )  # fmt: skip
        self.client = made["client_id"]

    def report(self, *more, status=0):
        return self.commands.json("client", "doctor", self.client, *more, status=status)

    def states(self, *more, status=0):
        """The state of each subject."""
        found = self.report(*more, status=status)["findings"]
        return {each["subject"]: each["state"] for each in found}

    def message(self, subject, *more):
        found = self.report(*more, status=1)["findings"]
        return next(each["message"] for each in found if each["subject"] == subject)

    def authorize(self, **changes):
        query = {
            "response_type": "code", "client_id": self.client, "scope": "openid", "state": "x",
            "redirect_uri": f"{APP}/callback", "code_challenge_method": "S256",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", **changes,
        }  # fmt: skip
        sent = {name: value for name, value in query.items() if value is not None}
        return self.site.http.get("/oauth/authorize", sent, status="*")


@pytest.fixture
def doctor(site_with, tmp_path):
    port = free_port()
    site = site_with(base_url=f"http://localhost:{port}")
    server = StopableWSGIServer.create(site.app, host="127.0.0.1", port=port, threads=4)
    assert server.wait()
    yield Doctor(site, Commands(site, tmp_path, base_url=site.cfg.base_url[0]))
    server.shutdown()


def test_nothing_is_wrong_with_a_client_that_works(doctor):
    assert doctor.states() == dict.fromkeys(
        ("redirect URIs", "ID token", "discovery", "clock", "keys"), "ok"
    )
    assert doctor.report()["refused"] == []


def test_the_last_ten_refusals_say_what_to_change(doctor):
    doctor.authorize(redirect_uri="http://localhost:9000/other")
    doctor.authorize(code_challenge=None, code_challenge_method=None)
    refused = doctor.report()["refused"]
    assert [each["reason"] for each in refused] == ["redirect_uri_mismatch", "challenge_missing"]
    assert "client update --redirect-uri" in refused[0]["change"]
    assert refused[0]["details"]["sent"] == "http://localhost:9000/other"
    assert "--pkce optional" in refused[1]["change"]
    assert all(each["request_id"] for each in refused)

    for _ in range(10):
        doctor.authorize(response_type="token")
    assert [each["reason"] for each in doctor.report()["refused"]] == ["response_type"] * 10


def test_refusals_of_another_client_are_not_shown(doctor):
    doctor.authorize(client_id="6f9619ff-8b86-4d01-b42d-00cf4fc964ff")
    assert doctor.report()["refused"] == []


def test_people_read_lines_and_refusals(doctor):
    doctor.authorize(redirect_uri="http://localhost:9000/other")
    done = doctor.commands.run("client", "doctor", doctor.client)
    assert "discovery" in done.output
    assert "redirect_uri_mismatch" in done.output
    assert "authsite explain" in done.output


def test_a_disabled_client_is_wrong(doctor):
    doctor.commands.json("client", "disable", doctor.client)
    assert doctor.states(status=1)["enabled"] == "wrong"
    assert "client enable" in doctor.message("enabled")


def test_a_client_of_another_type_signs_no_user_in(doctor):
    doctor.client = doctor.site.client().client_id
    assert "server" in doctor.message("type")


def test_an_address_where_nothing_answers_is_wrong(site_with, tmp_path):
    site = site_with(base_url=f"http://localhost:{free_port()}")
    doctor = Doctor(site, Commands(site, tmp_path, base_url=site.cfg.base_url[0]))
    assert doctor.states(status=1)["discovery"] == "wrong"
    assert "base-url" in doctor.message("discovery")


def test_a_clock_that_differs_is_wrong(doctor, frozen):
    frozen.advance(300)  # of this process; the header Date is the machine's
    assert doctor.states(status=1)["clock"] == "wrong"
    assert "NTP" in doctor.message("clock")


def test_the_pages_of_another_origin_need_cors(doctor):
    assert doctor.states("--origin", APP, status=1)["CORS"] == "wrong"
    assert "--origin" in doctor.message("CORS", "--origin", APP)


def test_the_pages_of_an_origin_of_the_client_have_it(doctor):
    made = doctor.commands.json(
        "client", "create", "--name", "Page", "--type", "browser",
        "--redirect-uri", f"{APP}/callback", "--origin", APP,
    )  # fmt: skip
    doctor.client = made["client_id"]
    assert doctor.states("--origin", APP)["CORS"] == "ok"


def test_a_key_that_does_not_open_is_wrong(doctor):
    assert doctor.states()["keys"] == "ok"
    with doctor.site.db() as db:
        db.execute(text("UPDATE signing_keys SET private = 'lost' WHERE private IS NOT NULL"))
    assert doctor.states(status=1)["keys"] == "wrong"
    assert "no key signs RS256" in doctor.message("keys")


def test_it_says_what_the_id_token_tells(doctor):
    def shown():
        found = doctor.report()["findings"]
        one = next(each for each in found if each["subject"] == "ID token")
        return one["state"], one["message"]

    state, message = shown()
    assert state == "ok"
    assert "sub" in message
    assert "name, preferred_username, nickname, locale, updated_at (profile)" in message
    doctor.commands.json("client", "update", doctor.client, "--id-token-claims", "userinfo")
    state, message = shown()
    assert state == "change"
    assert "no facts about the user" in message
    assert "--id-token-claims both" in message


def test_it_says_whether_an_application_that_need_not_do_pkce_has_done_so(doctor):
    def shown():
        return next(each for each in doctor.report()["findings"] if each["subject"] == "PKCE")

    commands = ("client", "update", doctor.client, "--pkce", "optional", "--first-party", "on")
    doctor.commands.json(*commands)
    assert (shown()["state"], "no sign-in yet" in shown()["message"]) == ("ok", True)
    doctor.site.user(confirmed=True)
    sign_in(doctor.site)
    press(doctor.site, doctor.authorize(code_challenge=None, code_challenge_method=None))
    assert shown()["state"] == "ok"
    assert "none of the last 1 sign-ins" in shown()["message"]
    press(doctor.site, doctor.authorize())
    assert shown()["state"] == "change"
    assert "1 of the last 2 sign-ins" in shown()["message"]
    assert "--pkce required" in shown()["message"]


def test_refused_logouts_and_token_requests_are_listed_with_what_to_change(doctor):
    sent = f"{APP}/goodbye/"
    doctor.commands.json(
        "client", "update", doctor.client, "--post-logout-redirect-uri", f"{APP}/goodbye"
    )
    query = {"client_id": doctor.client, "post_logout_redirect_uri": sent}
    page = doctor.site.http.get("/oauth/logout", query, status=400)
    assert sent in page.text
    assert "a slash at the end" in page.text
    doctor.authorize(scope="email nope")
    logout, scope = sorted(doctor.report()["refused"], key=lambda each: each["reason"])
    assert (logout["reason"], scope["reason"]) == ("logout.uri", "scope")
    assert logout["details"]["nearest"] == f"{APP}/goodbye"
    assert logout["details"]["differs"] == "slash"
    assert "--post-logout-redirect-uri" in logout["change"]
    assert scope["details"]["refused"] == "nope"
    shown = doctor.commands.run("client", "doctor", doctor.client).stdout
    assert logout["request_id"] in shown
