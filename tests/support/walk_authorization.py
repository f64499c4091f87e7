"""The part of `tests.support.walk` at the authorization endpoint."""

from urllib.parse import parse_qs, urlencode, urlsplit

from authsite.oauth.models import DEVICE_GRANT
from tests.support.authorizing import VERIFIER, Application, application, parameters, target_of
from tests.support.pages import csrf_of, sign_in
from tests.support.site import bearer
from tests.support.walk_pages import base_of


def its_tokens(site, app, location):
    """What the application does with the code in its redirect: all that asks for a user's token."""
    [code] = parse_qs(urlsplit(location).query)["code"]
    form = {"client_id": app.client_id, "client_secret": app.client_secret}
    redeemed = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    tokens = site.http.post("/v1/oauth/token", {**form, **redeemed}).json
    renewed = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    tokens = site.http.post("/v1/oauth/token", {**form, **renewed}).json
    headers = bearer(tokens["access_token"])
    site.http.get("/v1/oauth/userinfo", headers=headers)
    site.http.post("/v1/oauth/userinfo", headers=headers)
    site.http.post("/v1/oauth/token", {**form, **redeemed}, status=400)  # a second use


def an_authorization(site):
    """An application signs a user in, by both methods; the answers come to a page of our own."""
    base = base_of(site)
    app = application(site, redirect_uris=[f"{base}/account"], pkce_optional=True)
    site.user("flo@example.com", confirmed=True)
    url = f"{base}/oauth/authorize?{urlencode(parameters(app))}"
    site.http.get(url, status=302)
    posted = site.http.post(f"{base}/oauth/authorize", parameters(app, x="x" * 3000), status=303)
    site.http.get(posted.location, status=302)
    site.http.get(f"{url}&state=again", status=302)
    site.http.get(f"{base}/oauth/authorize", status=400)
    sign_in(site, "flo@example.com")
    for decision in ("deny", "allow"):
        shown = site.http.get(url, status=200)
        form = {"csrf_token": csrf_of(shown), "decision": decision}
        done = site.http.post(url, form, status=200)
    site.http.get(url)
    its_tokens(site, app, target_of(done))
    url = f"{url}&prompt=select_account"
    form = {"csrf_token": csrf_of(site.http.get(url)), "decision": "continue"}
    site.http.get(site.http.post(url, form, status=303).location, status=200)
    a_device(site)
    a_logout(site, app)
    site.http.reset()


def a_registration(site):
    """A program registers itself, and signs a user in."""
    base = base_of(site)
    sent = {"redirect_uris": [f"{base}/account"], "token_endpoint_auth_method": "none"}
    site.http.post_json("/v1/oauth/register", {"redirect_uris": []}, status=400)
    made = site.http.post_json("/v1/oauth/register", sent, status=201).json
    site.user("fay@example.com", confirmed=True)
    sign_in(site, "fay@example.com")
    asked = parameters(Application(made["client_id"], None, f"{base}/account", "x"))
    url = f"{base}/oauth/authorize?{urlencode(asked)}"
    form = {"csrf_token": csrf_of(site.http.get(url, status=200)), "decision": "allow"}
    [code] = parse_qs(urlsplit(target_of(site.http.post(url, form))).query)["code"]
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
    site.http.post("/v1/oauth/token", {**form, "client_id": made["client_id"]})
    site.http.reset()


def a_device(site):
    """A tool without a browser asks; the user enters its codes, of which one is wrong."""
    base = base_of(site)
    app = application(site, "native", redirect_uris=["http://127.0.0.1/callback"])
    grant = {"grant_type": DEVICE_GRANT, "client_id": app.client_id}
    page = f"{base}/device"
    for decision in ("deny", "allow"):
        asked = {"client_id": app.client_id, "scope": "openid"}
        started = site.http.post(f"{base}/v1/oauth/device", asked).json
        grant["device_code"] = started["device_code"]
        site.http.post("/v1/oauth/token", grant, status=400)
        form = {"csrf_token": csrf_of(site.http.get(page)), "user_code": started["user_code"]}
        site.http.post(page, {**form, "user_code": "BBBB-BBBB"}, status=422)
        site.http.post(page, form, status=200)
        site.http.post(page, {**form, "decision": decision}, status=200)
    for status in (200, 400):  # a second use
        site.http.post("/v1/oauth/token", grant, status=status)


def a_logout(site, app):
    """An application asks to sign its user out, by both methods."""
    url = f"{base_of(site)}/oauth/logout"
    asked = {"client_id": app.client_id, "state": "st-1"}
    shown = site.http.get(site.http.post(url, asked, status=303).location, status=200)
    site.http.get(f"{url}?client_id=x", status=400)
    form = {"csrf_token": csrf_of(shown), "decision": "sign_out"}
    site.http.post(shown.request.url, form, status=303)
