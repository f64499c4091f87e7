"""A public page that knows who is signed in: ``anonymous`` with a browser session (F9)."""

import pytest
from pyramid.exceptions import ConfigurationError
from sqlalchemy import select

from authsite.users import service as users
from authsite.users.models import User
from tests.guards.test_forward_auth import NAMES, identity
from tests.support.acting import acting
from tests.support.host import hello, route
from tests.support.pages import sign_in
from tests.support.site import bearer
from tests.support.statements import counted

ASKED = "/v1/guard/web?anonymous=1"
PAGE = {"Accept": "text/html"}


def build(config):
    config.add_route("home", "/home", guard="web", anonymous=True)
    config.add_view(hello, route_name="home")
    config.add_route("billing", "/billing", guard="web")
    config.add_view(hello, route_name="billing")


@pytest.fixture(params=["0s", "60s"], ids=["asked", "remembered"])
def site(request, host_with):
    made = host_with(build, guard_cache=request.param)
    made.ann = made.user(confirmed=True)
    return made


def has_no_caller(site, headers=PAGE):
    """Whether page and forward auth let the request pass without a caller."""
    page = site.http.get("/home", headers=headers, status=200)
    return page.text == "hello you" and identity(site.http.get(ASKED, headers=headers)) == [""] * 6


def test_f9_the_page_is_open_and_knows_its_user(site):
    assert has_no_caller(site)
    assert has_no_caller(site, {"Accept": "application/json", "Sec-Fetch-Dest": "empty"})
    sign_in(site)
    for _ in range(2):
        assert site.http.get("/home").text == "hello ann@example.com"
        told = identity(site.http.get(ASKED))
        assert told == [str(site.ann.id), "ann@example.com", "true", "", "", ""]


@pytest.mark.parametrize("cookie", ["authsite=x", "authsite=", f"authsite={'x' * 5000}", "a=b"])
def test_an_invalid_cookie_counts_as_none(site, cookie):
    assert has_no_caller(site, {"Cookie": cookie})
    ambiguous = {"Cookie": "authsite=x; authsite=y"}
    assert has_no_caller(site, ambiguous)


def test_a_token_is_no_session(site):
    token = site.login(site.client())["access_token"]
    assert has_no_caller(site, bearer(token))


def test_a_session_that_ended_counts_as_none(site):
    sign_in(site)
    with site.db() as db:
        users.disable(acting(db), users.find(db, str(site.ann.id)))
    # With a memory, a request that may change something asks the database.
    assert site.http.post("/home").text == "hello you"
    headers = {"X-Forwarded-Method": "POST"}
    assert identity(site.http.get(ASKED, headers=headers)) == [""] * 6
    assert has_no_caller(site)
    site.http.get("/billing", headers=PAGE, status=302)


def test_a_user_who_may_do_nothing_before_confirming_counts_as_none(host_with):
    site = host_with(build, variant="B", require_email_confirmation="true")
    site.user(confirmed=True)
    sign_in(site)
    assert not has_no_caller(site)
    with site.db() as db:
        db.scalars(select(User)).one().email_verified_at = None
    assert has_no_caller(site)
    site.http.get("/billing", headers=PAGE, status=403)


def test_an_address_that_is_not_confirmed_is_no_name_here_either(site):
    site.user("eve@example.com")
    sign_in(site, "eve@example.com")
    assert identity(site.http.get(ASKED))[1:3] == ["", "false"]


def test_it_costs_one_query_with_a_session_and_none_without(host_with):
    site = host_with(build)
    site.user(confirmed=True)
    sign_in(site)
    for path in ("/home", ASKED):
        with counted(site.database) as statements:
            site.http.get(path)
        assert len(statements) == 1
    site.http.reset()
    for path in ("/home", ASKED):
        with counted(site.database) as statements:
            site.http.get(path)
        assert statements == []


@pytest.mark.parametrize(
    "more", [{"verified": True}, {"unconfirmed": True}, {"fresh": "1d"}, {"scope": "a"}]
)
def test_with_another_option_it_stops_the_start(host_with, more):
    with pytest.raises(ConfigurationError, match=r"'reports': .*(stands alone|no scope)"):
        host_with(route(guard="web", anonymous=True, **more))


@pytest.mark.parametrize(
    "query",
    [
        *("verified=1&anonymous=1", "anonymous=1&redirect=1", "anonymous=1&scope=a"),
        *("anonymous=1&anonymous=1", "anonymous=0", "anonymous=", "anonymous", "anonymous=yes"),
    ],
)
def test_with_another_parameter_or_a_wrong_value_it_is_400_for_everyone(site, query):
    stranger = site.http.get(f"/v1/guard/web?{query}", status=400)
    sign_in(site)
    for answer in (stranger, site.http.get(f"/v1/guard/web?{query}", status=400)):
        assert answer.json["errors"][0]["code"] == "invalid_request"
        assert not set(answer.headers) & set(NAMES)
    site.http.get("/v1/guard/api?anonymous=1", status=400)
