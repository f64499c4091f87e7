"""`authsite.testing`: signed-in users for the tests of a host."""

import pytest

from authsite.oauth.errors import InvalidGrant
from authsite.platform.http.errors import ValidationFailed
from authsite.testing import bearer_token, session_cookie
from authsite.users import listing
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.host import hello
from tests.support.site import bearer

ANN = "ann@example.com"


def routes(config):
    for guard, options in (("api", {"scope": "a b"}), ("web", {})):
        config.add_route(guard, f"/{guard}", guard=guard, verified=True, fresh="10m", **options)
        config.add_view(hello, route_name=guard)


@pytest.fixture
def site(host_with):
    return host_with(routes, prefix="auth")


def test_a_token_opens_an_api_route_and_a_cookie_a_page_without_a_password(site, hashes):
    headers = bearer(bearer_token(site.app, ANN, "a b"))
    assert site.http.get("/api", headers=headers).text == f"hello {ANN}"
    site.http.set_cookie(*session_cookie(site.app, ANN))
    assert site.http.get("/web").text == f"hello {ANN}"
    with site.db() as db:
        assert [user.email for user in listing.search(db, 10).users] == [ANN]
    assert hashes == []


def test_the_token_has_the_scope_and_the_user_the_state_that_were_asked_for(site):
    site.http.get("/api", headers=bearer(bearer_token(site.app, ANN, "a")), status=403)
    headers = bearer(bearer_token(site.app, "bo@example.com", "a b", confirmed=False))
    site.http.get("/api", headers=headers, status=403)
    site.http.set_cookie(*session_cookie(site.app, "eve@example.com", confirmed=False))
    site.http.get("/web", status=403)


def test_what_cannot_be_signed_in_is_an_error(site):
    for sign_in in (bearer_token, session_cookie):
        with pytest.raises(ValidationFailed):
            sign_in(site.app, "ann")
    ann = site.user(ANN)
    with site.db() as db:
        users.disable(acting(db), users.find(db, str(ann.id)))
    with pytest.raises(InvalidGrant):
        bearer_token(site.app, ANN)
    with pytest.raises(ValueError, match="disabled"):
        session_cookie(site.app, ANN)
