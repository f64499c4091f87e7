"""Who administers authsite is told to other programs only with ``expose-reserved-groups``."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.sign_in import credentials
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.applications import resource
from tests.support.authorizing import BASE, OPENID, application, code_for, redeemed, sign_in
from tests.support.codes import claims_of

STRONG = credentials.pack(("pwd", "otp"))


@pytest.fixture(params=["off", "on"])
def site(request, site_with):
    """A site whose Ann is an owner, signed in with two factors; ``told``: what others learn."""
    made = site_with(**OPENID, expose_reserved_groups=request.param)
    user = made.user(confirmed=True)
    sign_in(made)
    with made.db() as db:
        db.execute(update(User).where(User.id == user.id).values(labels="authsite:owner ops"))
        db.execute(update(BrowserSession).values(facts=STRONG))
    made.told = ["authsite:owner", "ops"] if request.param == "on" else ["ops"]
    return made


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_id_token_userinfo_and_introspection(site):
    app = application(site, claims_in_id_token=True)
    pair = redeemed(site, app, code_for(site, app, scope="openid groups"))
    assert claims_of(pair["id_token"])["groups"] == site.told
    info = site.http.get(f"{BASE}/v1/oauth/userinfo", headers=bearer(pair["access_token"]))
    assert info.json["groups"] == site.told
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    sent = {"token": pair["access_token"], **keys}
    assert site.http.post(f"{BASE}/v1/oauth/introspect", sent).json["groups"] == site.told


def test_an_access_token_that_a_resource_checks_itself(site):
    api = resource(site, "https://api.example.org/", "", tokens="jwt")
    app = application(site)
    code = code_for(site, app, scope="openid groups", resource=api)
    assert claims_of(redeemed(site, app, code)["access_token"])["groups"] == site.told


def test_introspection_by_a_resource_server(site):
    token = site.login(site.client())["access_token"]
    with site.db() as db:
        db.execute(update(Family).values(facts=STRONG))
    answer = site.introspect(site.client("resource-server"), token)
    assert answer["groups"] == site.told


def test_forward_auth_tells_it_by_the_setting_and_requires_it_in_any_case(site):
    for query in ("", "?group=authsite:owner"):
        answer = site.http.get(f"{BASE}/v1/guard/web{query}", status=204)
        assert answer.headers["X-Auth-Groups"] == ",".join(site.told)


def test_an_application_can_require_it_in_any_case(site):
    app = application(site, require_group="authsite:owner")
    assert code_for(site, app)
