"""The view option ``rate_limit="…"``, client addresses, and the limits of clients."""

import pytest
from pyramid.config import Configurator
from pyramid.exceptions import ConfigurationError
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import text
from webtest import TestApp

from authsite.platform.http.errors import FieldError, ValidationFailed
from tests.support.site import PASSWORD, SECRET, ClientKeys

ON = {"limits": "on"}
TWICE = {"limits": "on", "limits_register_address": "2/hour"}


def register(site, number=0, address="192.0.2.1", **fields):
    body = {"email": f"user{number}@example.com", "password": "purple wolf 77 tea", **fields}
    environ = {"REMOTE_ADDR": address}
    return site.http.post_json("/v1/register", body, status="*", extra_environ=environ)


def hosted(database_url, view, **option):
    """A host's application with one rate-limited view at /it."""
    config = Configurator(
        settings={
            "authsite.secret": SECRET, "authsite.database-url": database_url,
            "authsite.limits.reset-token": "2/hour", "authsite.limits.forgot-address": "4/hour",
        }
    )  # fmt: skip
    config.include("authsite")
    config.add_route("authsite.it", "/v1/it")  # only authsite's own views have the option
    config.add_view(
        view, route_name="authsite.it", renderer="json", permission=NO_PERMISSION_REQUIRED, **option
    )
    app = config.make_wsgi_app()
    return TestApp(app, extra_environ={"REMOTE_ADDR": "192.0.2.1"})


@pytest.mark.control("L03")
def test_registrations_are_limited_for_each_address(site_with):
    site = site_with(**TWICE)
    assert [register(site, n).status_int for n in range(2)] == [201, 201]
    answer = register(site, 2)
    assert answer.status_int == 429
    assert 3590 <= int(answer.headers["Retry-After"]) <= 3600
    assert answer.json == {
        "message": "Too many attempts. Try again in 60 minutes.",
        "errors": [
            {
                "code": "too_many_attempts",
                "field": None,
                "message": "Too many attempts. Try again in 60 minutes.",
            }
        ],
    }
    assert register(site, 2, address="192.0.2.2").status_int == 201


def test_the_limit_is_over_when_its_window_is(site_with, frozen):
    site = site_with(**TWICE)
    for _ in range(3):
        responses = [register(site, email="taken@example.com") for _ in range(3)]
        assert responses[-1].status_int == 429
        assert responses[-1].headers["Retry-After"] == "3600"
        frozen.advance(3600)


def test_a_body_that_cannot_be_read_is_refused_before_it_is_counted(site_with):
    site = site_with(**TWICE)
    for _ in range(5):
        assert register(site, password=7).status_int == 422
    assert register(site).status_int == 201


def test_with_limits_off_nothing_is_counted(site_with):
    site = site_with(limits="off", limits_register_address="1/hour")
    assert [register(site, n).status_int for n in range(3)] == [201] * 3
    with site.db() as db:
        assert db.scalar(text("SELECT count(*) FROM limit_counters")) == 0


@pytest.mark.control("L05")
@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("", "", True),
    ],
)
def test_an_address_is_counted_whole_or_by_its_network(site_with, first, second, same):
    site = site_with(limits="on", limits_register_address="1/hour")
    assert register(site, 1, first).status_int == 201
    assert register(site, 2, second).status_int == (429 if same else 201)


@pytest.mark.control("L13")
@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Client-IP"])
def test_whoever_is_no_trusted_proxy_cannot_choose_an_address(site_with, header):
    site = site_with(limits="on", limits_login_address="10/minute")
    keys = site.client()
    seen = [
        site.try_login(
            keys, username=f"u{n}@example.com",
            **{header: f"for=203.0.113.{n}" if header == "Forwarded" else f"203.0.113.{n}"},
        ).status_int
        for n in range(100)
    ]  # fmt: skip
    assert seen == [400] * 10 + [429] * 90


@pytest.mark.control("L13")
def test_behind_a_trusted_proxy_the_address_that_it_wrote_counts(site_with):
    site = site_with(limits="on", limits_register_address="1/hour", trusted_proxies="192.0.2.1")

    def through_proxy(number, forwarded):
        body = {"email": f"user{number}@example.com", "password": "purple wolf 77 tea"}
        headers = {"X-Forwarded-For": forwarded}
        return site.http.post_json("/v1/register", body, headers=headers, status="*").status_int

    assert through_proxy(1, "198.51.100.1, 203.0.113.5") == 201
    assert through_proxy(2, "198.51.100.2, 203.0.113.5") == 429  # only the left-most is another
    assert through_proxy(3, "198.51.100.2, 203.0.113.6") == 201


@pytest.mark.control("L05")
def test_failed_client_authentications_are_limited_for_each_client_and_address(site_with):
    site = site_with(limits="on", limits_client_auth="3/minute")
    site.user()
    keys, other = site.client(), site.client()
    wrong = ClientKeys(keys.client_id, "not the secret")
    assert [site.try_login(wrong).status_int for _ in range(4)] == [401, 401, 401, 429]
    refused = site.try_login(wrong, PASSWORD)
    assert refused.status_int == 429
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert site.try_login(other, PASSWORD).status_int == 200
    assert site.try_login(keys, PASSWORD, address="198.51.100.7").status_int == 200


def test_s4_a_right_secret_is_never_refused_for_the_failures_of_others(site_with):
    """S4: a resource server shares its address with all clients behind the same gateway."""
    site = site_with(limits="on", limits_client_auth="3/minute")
    site.user()
    keys, resource = site.client(), site.client("resource-server")
    token = site.login(keys)["access_token"]
    for each in (keys, resource):
        wrong = ClientKeys(each.client_id, "not the secret")
        assert [site.try_login(wrong).status_int for _ in range(5)] == [401] * 3 + [429] * 2
    assert site.introspect(resource, token)["active"] is True
    assert site.try_login(keys, PASSWORD).status_int == 200
    assert site.try_login(wrong).status_int == 429  # what succeeds gives nothing back


def test_right_client_authentications_are_never_limited(site_with):
    site = site_with(limits="on", limits_client_auth="3/minute")
    keys = site.client("personal")
    for _ in range(8):
        site.token(keys, grant_type="client_credentials")


def test_a_wrong_client_over_basic_is_limited_too(site_with):
    site = site_with(limits="on", limits_client_auth="3/minute")
    keys = site.client("personal")
    site.http.authorization = ("Basic", (keys.client_id, "not the secret"))
    form = {"grant_type": "client_credentials"}
    responses = [site.http.post("/v1/oauth/token", form, status="*") for _ in range(4)]
    site.http.authorization = None
    assert [answer.status_int for answer in responses] == [401, 401, 401, 429]


@pytest.mark.parametrize("wrong", ["no-such-limit", ("register-address", "x"), "login-account"])
def test_an_unknown_limit_on_a_view_stops_the_start(database_url, wrong):
    with pytest.raises(ConfigurationError, match="names one or more of invitation-link"):
        hosted(database_url, lambda request: {}, rate_limit=wrong)


def test_a_limit_of_failures_counts_only_these(site, database_url):
    def redeem(request):
        # This holds SQLite's write lock.
        request.authsite.ctx.db.execute(text("UPDATE users SET name = 'x'"))
        if request.GET["token"] == "good":
            return {}
        code = "invalid_token" if request.GET["token"] == "bad" else "weak_password"
        raise ValidationFailed(details=[FieldError(code, "token", "")])

    http = hosted(database_url, redeem, rate_limit=("forgot-address", "reset-token"))
    # The first limit counts every request, the second those with a bad token.
    seen = [http.get(f"/v1/it?token={each}", status="*").status_int for each in ("good", "weak")]
    seen += [http.get("/v1/it?token=bad", status="*").status_int for _ in range(3)]
    assert seen == [200, 422, 422, 422, 429]


def test_two_failures_exhaust_a_limit_of_two(site, database_url):
    def redeem(_request):
        raise ValidationFailed(details=[FieldError("invalid_token", "token", "")])

    http = hosted(database_url, redeem, rate_limit="reset-token")
    seen = [http.get("/v1/it", status="*").status_int for _ in range(4)]
    assert seen == [422, 422, 429, 429]
