"""What a browser fetches ahead of its user spends nothing."""

import pytest

from tests.providers.people import go
from tests.support.authorizing import OPENID, application, authorize, code_for
from tests.support.counting import watched
from tests.support.fake_provider import fake_provider


@pytest.fixture
def site(site_with):
    site = site_with(**OPENID, limits="on", limits_storage="database")
    site.user(confirmed=True)
    return site


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Sec-Purpose": "Prefetch; anonymous-client-ip"},
        {"Purpose": "prefetch"},
    ],
    ids=str,
)
def test_a_prefetched_authorization_gives_no_code(site, headers):
    app = application(site)
    code_for(site, app)
    with watched(site) as seen:
        answer = authorize(site, app, headers=headers)
    assert (answer.status_int, answer.headers["Retry-After"]) == (503, "1")
    assert answer.headers["Cache-Control"] == "no-store"
    assert [each.wrote for each in seen] == [False]
    assert authorize(site, app).status_int == 302


@pytest.mark.parametrize("path", ["/oauth/logout", "/v1/email/verify/x/y"])
def test_nor_does_anything_else_that_works_once(site, path):
    url = f"https://auth.example.com{path}"
    answer = site.http.get(url, headers={"Sec-Purpose": "prefetch"}, status=503)
    assert (answer.headers["Retry-After"], answer.headers["Cache-Control"]) == ("1", "no-store")


def test_a_prefetched_return_from_a_provider_stays_for_the_user(site_with):
    with fake_provider("oidc") as fake:
        site = site_with(**fake.settings(), providers=fake.name)
        back = fake.authorize(go(site, fake.name))
        asked = len(fake.paths)
        answer = site.http.get(back, headers={"Sec-Purpose": "prefetch"}, status=503)
        assert (answer.headers["Retry-After"], answer.headers["Cache-Control"]) == ("1", "no-store")
        assert len(fake.paths) == asked
        site.http.get(back, status=303)


def test_other_pages_may_be_fetched_ahead(site):
    for headers in ({"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"}):
        site.http.get("https://auth.example.com/login", headers=headers, status=200)


def test_other_purposes_are_requests_of_users(site):
    app = application(site)
    assert authorize(site, app, headers={"Sec-Purpose": "prefetching"}).status_int == 302
