"""On https the refresh cookie counts only with its witness, which no other host can set (M2)."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from tests.support.site import PASSWORD, SECRET, WEB, Site

AUTH = "https://auth.example.org"
SETTINGS = {"base_url": AUTH, "refresh_expires_in": "12h", **WEB}
PATH, WITNESS = "/v1/clients/web", "__Host-authsite-refresh-web"
LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}
DOMAINS = (None, "auth.example.org", "example.org")
PATHS = ("/", "/v1", "/v1/", "/v1/clients", "/v1/clients/", PATH, f"{PATH}/", f"{PATH}/refresh")
EVERYWHERE = {("refreshToken", domain, path) for domain in DOMAINS for path in PATHS}


@pytest.fixture
def site(site_with):
    return prepared(site_with(**SETTINGS))


def prepared(made):
    made.first_party("web")
    made.user()
    made.user("mallory@example.com")
    return made


def log_in(site, name="ann@example.com"):
    """The answer of a login in a separate browser, and its two cookies."""
    site.http.reset()
    answer = site.http.post(f"{AUTH}{PATH}/login", LOGIN_FORM | {"username": name})
    return answer, cookies_of(answer)


def cookies_of(answer):
    """The refresh cookie and the witness that an answer sets, in the form of a Cookie header."""
    pairs = [line.partition(";")[0] for line in answer.headers.getall("Set-Cookie")]
    found = {pair.partition("=")[0]: pair for pair in pairs}
    return found["refreshToken"], found[WITNESS]


def refresh(site, *cookies, status=200, form=None):
    site.http.reset()
    headers = {"Cookie": "; ".join(cookies), "Origin": AUTH}
    url = f"{AUTH}{PATH}/refresh"
    return site.http.post(url, form or {}, headers=headers, status=status)


def deleted(answer):
    """Name, domain and path of each cookie that an answer deletes."""
    found = set()
    for line in answer.headers.getall("Set-Cookie"):
        pair, *attributes = line.split("; ")
        known = dict(item.partition("=")[::2] for item in attributes)
        if known.get("Max-Age") == "0":
            found.add((pair.partition("=")[0], known.get("Domain"), known["Path"]))
    return found


def refuses(site, *cookies):
    """The refresh is refused, rotates nothing, and both cookies are deleted."""
    before = [family.generation for family in site.families()]
    answer = refresh(site, *cookies, status=400)
    assert answer.json["error"] == "invalid_request"
    assert deleted(answer) >= EVERYWHERE | {(WITNESS, None, "/")}
    assert [family.generation for family in site.families()] == before
    return answer


def test_a_login_and_a_refresh_set_both_cookies_for_the_same_time(site):
    answer, cookies = log_in(site)
    for each in (answer, refresh(site, *cookies)):
        [witness] = [x for x in each.headers.getall("Set-Cookie") if x.startswith(WITNESS)]
        for attribute in ("Path=/;", "HttpOnly", "secure", "SameSite=Strict", "Max-Age=43200;"):
            assert attribute in witness
        assert "domain" not in witness.lower()
        refresh(site, *cookies_of(each))


@pytest.mark.control("S05")
def test_m2_a_cookie_that_another_host_has_set_signs_no_one_in(site):
    """M2: a sibling host can set `refreshToken`, and cannot set the witness."""
    tossed, _ = log_in(site, "mallory@example.com")[1]
    answer = refuses(site, tossed)
    assert "Log in again" in answer.json["error_description"]
    own, witness = log_in(site)[1]
    refuses(site, tossed, witness)
    refuses(site, own, "__Host-authsite-refresh-web=" + "0" * 64)
    refuses(site, own)  # also a sign-in from before the witness


@pytest.mark.control("S02")
def test_m2_of_several_cookies_the_one_that_fits_counts_and_the_others_are_deleted(site):
    """M2: a cookie of a longer path, which comes first, no longer signs the browser out."""
    tossed = [log_in(site, "mallory@example.com")[1][0] for _ in range(3)]
    answer, (own, witness) = log_in(site)
    for sent in (
        (*tossed, "refreshToken=x", own, witness),
        (own, witness, "refreshToken="),
        (witness, tossed[0], own),
    ):
        refreshed = refresh(site, *sent)
        own, witness = cookies_of(refreshed)
        assert deleted(refreshed) == EVERYWHERE - {("refreshToken", None, PATH)}
        last = [x for x in refreshed.headers.getall("Set-Cookie") if "refreshToken" in x][-1]
        assert last.startswith(own)
    assert answer.json["refresh_token"] not in own


def test_of_two_tokens_of_one_family_the_newer_one_counts(site):
    _, (first, witness) = log_in(site)
    second, _ = cookies_of(refresh(site, first, witness))
    third, _ = cookies_of(refresh(site, first, second, witness))
    refresh(site, third, second, first, witness)
    assert [family.revoked_at for family in site.families()] == [None]


def test_an_expired_token_that_fits_is_an_invalid_grant(site_with, frozen):
    site = prepared(site_with(**SETTINGS))
    _, cookies = log_in(site)
    frozen.advance(12 * 3600 + 1)
    answer = refresh(site, *cookies, status=400)
    assert answer.json["error"] == "invalid_grant"


def test_a_revoked_token_that_fits_is_an_invalid_grant(site):
    _, cookies = log_in(site)
    with site.db() as db:
        db.execute(update(Family).values(revoked_at=Family.created_at))
    assert refresh(site, *cookies, status=400).json["error"] == "invalid_grant"


def test_an_explicit_token_needs_no_witness(site):
    answer, _ = log_in(site)
    refreshed = refresh(site, form={"refresh_token": answer.json["refresh_token"]})
    refresh(site, *cookies_of(refreshed))


@pytest.mark.parametrize("value", ["", "x", "rt_", "at_x", "\xff\xfe", "x" * 4000, '"a\\012b"'])
def test_rubbish_is_refused(site, value):
    _, (own, witness) = log_in(site)
    answer = refresh(site, f"refreshToken={value}", witness, status=400)
    assert answer.json["error"] == "invalid_request"
    answer = refresh(site, own, f"{WITNESS}={value}", status=400)
    assert answer.json["error"] == "invalid_request"


def test_a_witness_is_for_one_family(site):
    """Each login has a separate family, also two of one user."""
    first, second = log_in(site)[1], log_in(site)[1]
    refuses(site, first[0], second[1])
    refresh(site, *first)


def test_a_logout_clears_both_cookies_of_every_client(site):
    answer, _ = log_in(site)
    headers = {"Authorization": f"Bearer {answer.json['access_token']}"}
    cleared = deleted(site.http.delete(f"{AUTH}/v1/logout", headers=headers, status=200))
    assert cleared == {("refreshToken", None, PATH), (WITNESS, None, "/")}


def test_a_client_with_a_hyphen_in_its_name_has_a_witness_for_each_spelling(site_with):
    site = site_with(
        **{"base_url": AUTH, **{k.replace("web", "my_app"): v for k, v in WEB.items()}}
    )
    site.first_party("my_app")
    site.user()
    for name in ("my-app", "my_app"):
        answer = site.http.post(f"{AUTH}/v1/clients/{name}/login", LOGIN_FORM)
        witness = f"__Host-authsite-refresh-{name}"
        assert any(x.startswith(witness) for x in answer.headers.getall("Set-Cookie"))
        refreshed = site.http.post(
            f"{AUTH}/v1/clients/{name}/refresh", {}, headers={"Origin": AUTH}, status=200
        )
    headers = {"Authorization": f"Bearer {refreshed.json['access_token']}"}
    cleared = {name for name, *_ in deleted(site.http.delete(f"{AUTH}/v1/logout", headers=headers))}
    assert {"__Host-authsite-refresh-my-app", "__Host-authsite-refresh-my_app"} <= cleared


def test_a_new_secret_keeps_the_witness(site, database_url):
    _, cookies = log_in(site)
    newer = "pW7xTz2QkVb9-mYc4RfLd8HsJn3GuEa6ViK5oX1B"
    rotated = Site(database_url, secret=f"{newer} {SECRET}", **SETTINGS)
    refresh(rotated, *cookies)
    rotated.database.dispose()


def test_on_http_there_is_no_witness(site_with):
    site = site_with(**WEB)
    site.first_party("web")
    site.user()
    answer = site.http.post(f"{PATH}/login", LOGIN_FORM)
    assert "authsite-refresh" not in str(answer.headers)
    site.http.post(f"{PATH}/refresh", {}, headers={"Origin": "http://localhost"}, status=200)


def test_two_tabs_that_refresh_at_the_same_moment_keep_one_witness(site):
    """It is bound to the family, so the answer that comes last does not invalidate the other."""
    _, cookies = log_in(site)
    first, second = (cookies_of(refresh(site, *cookies)) for _ in range(2))  # within the grace
    assert first == second
    assert first[1] == cookies[1]
    refresh(site, *second)
