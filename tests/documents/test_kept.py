"""How long a document counts, and what happens when it changes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from click.testing import CliRunner
from webtest import TestApp

from authsite.cli import authsite
from authsite.oauth.client_documents.service import lifetime_of
from authsite.oauth.models import Client, ClientUri
from tests.support.authorizing import (
    authorize,
    code_for,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.in_process import write_ini
from tests.support.site import bearer

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("value", "minutes"),
    [
        ("", 5),
        ("max-age=60", 5),
        ("no-store, max-age=3600", 5),
        ("no-cache", 5),
        ("public, max-age=3600", 60),
        ('MAX-AGE="3600"', 60),
        ("max-age=9999999999", 24 * 60),
        ("max-age=x", 5),
        ("s-maxage=3600", 5),
    ],
)
def test_it_counts_from_five_minutes_to_a_day(value, minutes):
    assert lifetime_of({"cache-control": value}) == minutes * MINUTE


def test_it_is_fetched_again_when_its_time_has_come(issuer, ann, there, frozen):
    there.headers["Cache-Control"] = "max-age=3600"
    sign_in(issuer)
    authorize(issuer, there.application)
    frozen.advance(59 * 60)
    authorize(issuer, there.application)
    assert there.fetched == 1
    frozen.advance(2 * 60)
    there.document["client_name"] = "Notes 2"
    assert "Notes 2" in authorize(issuer, there.application).text
    assert there.fetched == 2
    with issuer.db() as db:
        assert db.query(Client).one().name == "Notes 2"
        assert db.query(ClientUri).count() == 3
    assert issuer.events().count("client.registered") == 1


def test_a_redirect_uri_that_is_gone_does_not_work_and_tokens_go_on(issuer, ann, there, frozen):
    app = there.application
    tokens = redeemed(issuer, app, code_for(issuer, app), client_secret=None)
    frozen.advance(6 * 60)
    there.document["redirect_uris"] = ["https://client.example/new"]
    answer = authorize(issuer, app)
    assert (answer.status_int, target_of(answer)) == (400, None)
    assert "new" not in answer.html.find("main").text
    there.status = 404
    frozen.advance(6 * 60)
    assert authorize(issuer, app, redirect_uri="https://client.example/new").status_int == 400
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    tokens = issuer.http.post("/v1/oauth/token", {**form, "client_id": there.url}).json
    issuer.http.get("/v1/oauth/userinfo", headers=bearer(tokens["access_token"]))


def test_a_disabled_client_stays_refused_and_is_not_fetched(issuer, ann, there, frozen, tmp_path):
    app = there.application
    tokens = redeemed(issuer, app, code_for(issuer, app), client_secret=None)
    ini = write_ini(tmp_path / "authsite.ini", issuer.url)
    done = CliRunner().invoke(authsite, ["client", "disable", there.url, "--json", "--config", ini])
    assert (done.exit_code, there.url in done.stdout) == (0, True), done.output
    issuer.http.get("/v1/oauth/userinfo", headers=bearer(tokens["access_token"]), status=401)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    issuer.http.post("/v1/oauth/token", {**form, "client_id": there.url}, status=401)
    frozen.advance(2 * 86400)
    sign_in(issuer)
    assert "not registered here" in authorize(issuer, app).text
    assert there.fetched == 1


@pytest.mark.both_databases
def test_concurrent_first_requests_make_one_client(issuer, ann, there):
    sign_in(issuer)
    page = authorize(issuer, there.application, pressed=False)
    form = next(each for each in page.forms.values() if "decision" in each.fields)
    pressed = form.submit("decision", value="continue", status=303).location

    def ask(_number):
        browser = TestApp(issuer.app, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
        browser.cookiejar = issuer.http.cookiejar
        return browser.get(pressed, status="*").status_int

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))
    assert set(found) <= {200, 503}  # two documents are fetched at a time
    assert 200 in found
    with issuer.db() as db:
        assert db.query(Client).count() == 1
        assert db.query(ClientUri).count() == 3
    assert issuer.events().count("client.registered") == 1
