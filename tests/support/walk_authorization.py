"""The part of `tests.support.walk` at the authorization endpoint."""

from urllib.parse import urlencode

from tests.support.authorizing import application, parameters
from tests.support.pages import csrf_of, sign_in
from tests.support.walk_pages import base_of


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
        site.http.post(url, form, status=200)
    site.http.get(url, status=302)
    url = f"{url}&prompt=select_account"
    form = {"csrf_token": csrf_of(site.http.get(url)), "decision": "continue"}
    site.http.get(site.http.post(url, form, status=303).location, status=200)
    a_logout(site, app)
    site.http.reset()


def a_logout(site, app):
    """An application asks to sign its user out, by both methods."""
    url = f"{base_of(site)}/oauth/logout"
    asked = {"client_id": app.client_id, "state": "st-1"}
    shown = site.http.get(site.http.post(url, asked, status=303).location, status=200)
    site.http.get(f"{url}?client_id=x", status=400)
    form = {"csrf_token": csrf_of(shown), "decision": "sign_out"}
    site.http.post(shown.request.url, form, status=303)
