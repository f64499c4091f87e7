"""The way to a provider and back: state, browser, issuer and errors of a return."""

from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from sqlalchemy import func, select

from authsite.platform.stored_requests import StoredRequest
from tests.support.site import SECRET


def changed(url, **parameters):
    """The URL with other parameters; those that are None are left out."""
    parts = urlsplit(url)
    query = {**dict(parse_qsl(parts.query)), **parameters}
    left = {name: value for name, value in query.items() if value is not None}
    return parts._replace(query=urlencode(left)).geturl()


def test_the_return_has_what_the_start_began_with(trips):
    back = trips.trip(trips.to(), purpose="link", remember="1", next="/reports?of=may")
    start = (back["purpose"], back["remember"], back["next"], back["session_id"])
    assert start == ("link", True, "/reports?of=may", None)


@pytest.mark.both_databases
@pytest.mark.parametrize(("length", "stored"), [(512, 0), (513, 1), (2048, 1)])
def test_a_next_of_more_than_512_bytes_is_a_row_until_the_return(trips, length, stored):
    fake, target = trips.to(), "/" + "n" * (length - 1)
    url = trips.start(fake, next=target)
    assert stored_requests(trips) == stored
    assert (target in url) is False
    assert trips.back(fake.authorize(url))["next"] == target
    assert stored_requests(trips) == 0


def stored_requests(trips):
    with trips.site.db() as db:
        return db.scalar(select(func.count()).select_from(StoredRequest))


@pytest.mark.both_databases
def test_a_return_works_once(trips):
    fake = trips.to()
    back = fake.authorize(trips.start(fake))
    assert trips.back(back)["reason"] is None
    assert trips.back(back)["reason"] == "used"
    assert fake.paths.count("/token") == 1


def test_two_tabs_of_a_browser_return_in_any_order(trips):
    fake, other = trips.to(), trips.to("github")
    first, second, third = trips.start(fake), trips.start(fake), trips.start(other)
    for provider, url in ((other, third), (fake, second), (fake, first)):
        assert trips.back(provider.authorize(url))["reason"] is None


def test_a_return_in_another_browser_is_refused(trips):
    fake = trips.to()
    back = fake.authorize(trips.start(fake))
    attacked = trips.browser()
    assert trips.back(back, browser=attacked)["reason"] == "other_browser"
    trips.start(fake, browser=attacked)  # with a cookie, which has another value
    assert trips.back(back, browser=attacked)["reason"] == "other_browser"
    assert "/token" not in fake.paths
    assert trips.back(back)["reason"] is None


def test_a_return_after_ten_minutes_is_too_old(trips, frozen):
    fake = trips.to()
    back, later = (fake.authorize(trips.start(fake)) for _ in range(2))
    frozen.advance(599)
    assert trips.back(back)["reason"] is None
    frozen.advance(1)
    answer = trips.back(later)
    assert (answer["reason"], answer["status"]) == ("too_old", 400)


@pytest.mark.parametrize("change", [lambda text: None, lambda text: "A" + text[1:], str.swapcase])
def test_a_state_that_was_changed_is_refused(trips, change):
    fake = trips.to()
    back = fake.authorize(trips.start(fake))
    state = dict(parse_qsl(urlsplit(back).query))["state"]
    assert trips.back(changed(back, state=change(state)))["reason"] == "state"


def test_a_return_on_the_path_of_another_provider_is_refused(trips):
    """Mix-up: the attacker's provider must not get the code of the honest one."""
    honest, attacker = trips.to(), trips.to()
    back = honest.authorize(trips.start(honest))
    answer = trips.back(back, path=f"/login/with/{attacker.name}/return")
    assert answer["reason"] == "other_provider"
    assert "/token" not in attacker.paths


@pytest.mark.parametrize(
    ("preset", "issuer"), [("oidc", "https://attacker.example"), ("github", "https://github.com")]
)
def test_a_return_that_names_another_issuer_is_refused(trips, preset, issuer):
    fake = trips.to(preset)
    fake.return_more = {"iss": issuer}
    assert trips.trip(fake)["reason"] == "other_provider"
    assert not {"/token", "/login/oauth/access_token"} & set(fake.paths)
    fake.return_more = {"iss": fake.issuer}
    assert trips.reason(fake) is None


def test_a_return_without_the_issuer_that_was_announced_is_refused(trips):
    fake = trips.to()
    fake.discovery = {"authorization_response_iss_parameter_supported": True}
    assert trips.reason(fake) == "other_provider"
    fake.return_more = {"iss": fake.issuer}
    assert trips.reason(fake) is None


def test_microsofts_return_names_a_directory_in_its_issuer(trips):
    fake = trips.to("microsoft")
    fake.return_more = {"iss": fake.issuer.replace("common", fake.claims["tid"])}
    assert trips.reason(fake) is None
    fake.return_more = {"iss": fake.issuer}
    assert trips.reason(fake) == "other_provider"


@pytest.mark.parametrize(
    ("error", "reason", "status"),
    [
        ("access_denied", "canceled", 400),
        ("login_required", "provider_error", 503),
        ("consent_required", "provider_error", 503),
        ("server_error", "provider_busy", 503),
        ("temporarily_unavailable", "provider_busy", 503),
        ("<script>", "provider_error", 503),
    ],
)
def test_an_error_of_the_return_is_refused_without_the_providers_text(trips, error, reason, status):
    fake = trips.to()
    fake.return_error, fake.return_more = error, {"error_description": "Call 555-0100"}
    answer = trips.trip(fake)
    assert (answer["reason"], answer["status"]) == (reason, status)
    assert "555" not in answer["text"]
    assert error not in answer["text"]
    assert "/token" not in fake.paths


def test_a_return_without_a_code_is_refused(trips):
    fake = trips.to()
    back = changed(fake.authorize(trips.start(fake)), code=None)
    assert trips.back(back)["reason"] == "no_code"


def test_the_cookie_keeps_its_value_and_gets_its_time_again(trips):
    fake = trips.to()
    first, second = (trips.http.get(f"/start/{fake.name}") for _ in range(2))
    cookie = first.headers["Set-Cookie"]
    assert second.headers["Set-Cookie"].partition(";")[0] == cookie.partition(";")[0]
    name, _, attributes = cookie.partition("=")
    assert name == "authsite-provider"
    assert {"HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"} <= set(attributes.split("; "))


def test_a_cookie_of_another_form_is_replaced(trips):
    fake = trips.to()
    chosen = {"Cookie": "authsite-provider=known-to-an-attacker"}
    answer = trips.http.get(f"/start/{fake.name}", headers=chosen)
    assert "known-to-an-attacker" not in answer.headers["Set-Cookie"]
    assert trips.back(fake.authorize(answer.text))["reason"] is None


def test_the_redirect_uri_and_the_cookie_are_those_of_the_first_base_url(trips_with):
    with trips_with(base_url="https://auth.example.org/id https://example.net") as trips:
        fake = trips.to()
        answer = trips.http.get(f"/start/{fake.name}")
        sent = dict(parse_qsl(urlsplit(answer.text).query))
        assert answer.headers["Set-Cookie"].startswith("__Host-authsite-provider=")
        own = f"https://auth.example.org/id/login/with/{fake.name}/return"
        assert sent["redirect_uri"] == own


def test_a_way_that_began_before_the_secret_was_replaced_ends_well(trips, trips_with):
    fake = trips.to()
    back = fake.authorize(trips.start(fake))
    with trips_with(secret=f"{SECRET[::-1]} {SECRET}") as replaced:
        replaced.values = trips.values
        replaced.http.cookiejar = trips.http.cookiejar
        assert replaced.back(back)["reason"] is None


def test_the_request_has_pkce_and_a_nonce_that_belong_to_the_state(trips):
    fake = trips.to()
    first, second = trips.sent(fake), trips.sent(fake)
    assert first["response_type"] == "code"
    assert first["scope"] == "openid email profile"
    assert first["code_challenge_method"] == "S256"
    different = ("state", "nonce", "code_challenge")
    assert all(first[name] != second[name] for name in different)
    assert not {"prompt", "max_age", "login_hint"} & set(first)


def test_a_confirmation_asks_for_a_proof_now(trips):
    fake = trips.to()
    sent = trips.sent(fake, purpose="confirm", login_hint="ann@example.com")
    asked = {name: sent[name] for name in ("prompt", "max_age", "login_hint")}
    assert asked == {"prompt": "login", "max_age": "0", "login_hint": "ann@example.com"}


def test_extra_parameters_are_encoded_into_the_request(trips):
    fake = trips.to(extra=(("kc_idp_hint", "a&b=c"), ("audience", "api")))
    fake.discovery = {"authorization_endpoint": f"{fake.url}/authorize?realm=staff"}
    sent = trips.sent(fake)
    assert (sent["kc_idp_hint"], sent["audience"], sent["realm"]) == ("a&b=c", "api", "staff")
