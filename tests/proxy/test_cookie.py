"""Refreshing by cookie, and who may: a page of another origin changes nothing."""

import pytest

from tests.support.site import PASSWORD, WEB

LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}
OWN, LISTED, FOREIGN = "http://localhost", "https://app.example.org", "https://evil.example"


@pytest.fixture
def site(site_with):
    """A site with the web client and its user Ann."""
    made = site_with(cors_origins=LISTED, **WEB)
    made.first_party("web")
    made.user()
    return made


def log_in(site):
    """Log Ann in; the test browser keeps the cookie."""
    return site.http.post("/v1/clients/web/login", LOGIN_FORM).json


def refresh(site, form=None, status=200, as_json=False, **headers):
    """Refresh at the proxy, as a browser that holds the cookie."""
    send = site.http.post_json if as_json else site.http.post
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return send("/v1/clients/web/refresh", form or {}, headers=headers, status=status)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": OWN},
        {"Origin": LISTED},
        {"Sec_Fetch_Site": "same-origin"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": OWN, "Sec_Fetch_Site": "same-origin"},
        {"Origin": LISTED, "Sec_Fetch_Site": "cross-site"},
        {"Origin": LISTED, "Sec_Fetch_Site": "same-site"},
    ],
)
def test_the_cookie_refreshes_for_our_own_and_listed_origins(site, headers):
    tokens = log_in(site)
    fresh = refresh(site, **headers)
    assert set(fresh.json) == set(tokens)
    assert fresh.json["refresh_token"] != tokens["refresh_token"]
    assert site.http.cookies["refreshToken"].strip('"') == fresh.json["refresh_token"]
    site.me(fresh.json["access_token"])


def test_the_cookie_refreshes_a_json_request_without_an_origin(site):
    log_in(site)
    refresh(site, as_json=True)


def test_cookie_refreshes_can_follow_one_another(site):
    log_in(site)
    for _ in range(5):
        fresh = refresh(site, Origin=OWN).json
    site.me(fresh["access_token"])
    [family] = site.families()
    assert family.generation == 5


@pytest.mark.control("S05")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": FOREIGN},
        {"Origin": FOREIGN, "Sec_Fetch_Site": "cross-site"},
        {"Origin": "null"},
        {"Origin": "null", "Sec_Fetch_Site": "cross-site"},
        {"Origin": ""},
        {"Origin": OWN + ":8080"},
        {"Origin": OWN + ".evil.example"},
        {"Origin": "https://localhost"},
        {"Origin": LISTED + "/"},
        {"Origin": LISTED.upper()},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "rubbish"},
        {},
    ],
)
def test_a_foreign_page_is_refused_and_rotates_nothing(site, headers):
    tokens = log_in(site)
    answer = refresh(site, status=403, **headers)
    assert answer.json["error"] == "access_denied"
    assert set(answer.json) == {"error", "error_description", "message"}
    assert "Set-Cookie" not in answer.headers
    [family] = site.families()
    assert (family.generation, family.revoked_at) == (0, None)
    assert refresh(site, Origin=OWN).json["refresh_token"] != tokens["refresh_token"]


CROSS_SITE = [
    {"Origin": FOREIGN},
    {"Origin": FOREIGN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.control("S05")
@pytest.mark.parametrize("headers", CROSS_SITE)
@pytest.mark.parametrize("send", ["post", "post_json"])
@pytest.mark.parametrize("path", ["/v1/clients/web/login", "/v1/clients/web/users/login"])
def test_h5_a_foreign_page_cannot_sign_a_visitor_in(site, path, send, headers):
    """H5: a form on any site replaced the visitor's refresh cookie by the attacker's."""
    answer = getattr(site.http, send)(path, LOGIN_FORM, headers=headers, status=403)
    assert answer.json["error"] == "access_denied"
    assert "cors-origins" in answer.json["error_description"]
    assert "Set-Cookie" not in answer.headers
    assert site.families() == []


@pytest.mark.control("S05")
@pytest.mark.parametrize("headers", CROSS_SITE)
def test_h5_a_foreign_page_sets_no_cookie_by_a_token_of_its_own(site, headers):
    """H5: nor by a refresh with an explicit token."""
    token = log_in(site)["refresh_token"]
    site.http.reset()
    form = {"refresh_token": token}
    answer = site.http.post("/v1/clients/web/refresh", form, headers=headers, status=403)
    assert "Set-Cookie" not in answer.headers
    assert site.families()[0].generation == 0


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": OWN}, {"Origin": LISTED}, {"Sec-Fetch-Site": "same-origin"}]
)
def test_our_own_pages_listed_ones_and_programs_log_in(site, headers):
    answer = site.http.post("/v1/clients/web/login", LOGIN_FORM, headers=headers)
    assert "refreshToken=" in str(answer.headers.getall("Set-Cookie"))
    token = answer.json["refresh_token"]
    site.http.reset()
    form = {"refresh_token": token}
    site.http.post("/v1/clients/web/refresh", form, headers=headers)


def test_trial_26_the_error_names_the_ways_out(site):
    """Trial 26: a form without an Origin got a 403 that did not say what to do."""
    log_in(site)
    message = refresh(site, status=403).json["error_description"]
    assert "application/json" in message
    assert "cors-origins" in message


@pytest.mark.control("S05")
def test_a_foreign_json_request_is_refused_too(site):
    log_in(site)
    refresh(site, as_json=True, status=403, Origin=FOREIGN)
    assert site.families()[0].generation == 0


@pytest.mark.control("S05")
def test_the_explicit_token_wins_over_the_cookie(site):
    first = log_in(site)
    log_in(site)  # the cookie is now that of a second family
    refresh(site, {"refresh_token": first["refresh_token"]})
    generations = [family.generation for family in site.families()]
    assert generations == [1, 0]


@pytest.mark.control("S05")
def test_a_bad_explicit_token_is_not_replaced_by_the_cookie(site):
    log_in(site)
    answer = refresh(site, {"refresh_token": "rt_wrong"}, status=400, Origin=OWN)
    assert answer.json["error"] == "invalid_grant"
    assert site.families()[0].generation == 0


@pytest.mark.parametrize("form", [{}, {"refresh_token": ""}])
def test_neither_token_nor_cookie_is_an_invalid_request(site, form):
    answer = refresh(site, form, status=400, Origin=OWN)
    assert answer.json["error"] == "invalid_request"


@pytest.mark.parametrize("value", ["", "x", "rt_", "at_x", "\xff\xfe", "x" * 4000, '"a\\012b"'])
def test_rubbish_in_the_cookie_is_refused(site, value):
    headers = {"Cookie": f"refreshToken={value}", "Origin": OWN}
    answer = site.http.post("/v1/clients/web/refresh", headers=headers, status=400)
    assert answer.json["error"] in ("invalid_grant", "invalid_request")
