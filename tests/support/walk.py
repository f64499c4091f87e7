"""One walk through everything that a request can ask the service for.

`walked` sees which views answered, so that a test can insist on all of them.
"""

import re
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from pyramid.interfaces import INewResponse
from sqlalchemy import update

from authsite import clock
from authsite.mail.leases import release, renew
from authsite.oauth.models import Family
from authsite.rate_limit.storage import DatabaseStorage
from authsite.sessions.models import BrowserSession
from authsite.users import service as users
from tests.support import mails
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, WEB, bearer

# Limits in the database: that is where they make statements.
METRICS_TOKEN = "nJ7wq2Vx0RkLm9TzYb4cHd6FsGa8PeUi1oXvCtQy"
SETTINGS = {
    "limits": "on",
    "metrics_token": METRICS_TOKEN,
    "limits_storage": "database",
    "limits.register_address": "100/hour",
    "limits.login_address": "1000/hour",
    "login_identifiers": "email username phone",
    "phone_region": "DE",
    **WEB,
}
ACCOUNT_FORMS = (
    "/account/profile",
    "/account/email",
    "/account/email/resend",
    "/account/email/cancel",
    "/account/password",
    "/account/sessions/end-others",
    "/account/tokens",
    "/account/delete",
)
NEW, NEWER = "purple wolf 77 tea", "green otter 31 rye"


@contextmanager
def walked(site):
    """The set of (route, method) that answered without an error meanwhile."""
    seen = set()

    def note(event):
        route = event.request.matched_route
        if route is not None and event.response.status_int < 400:
            seen.add((route.name, event.request.method))

    site.app.registry.registerHandler(note, [INewResponse])
    try:
        yield seen
    finally:
        site.app.registry.unregisterHandler(note, [INewResponse])


def views(site):
    """Every (route, method) of the application, save its static files."""
    found = set()
    for item in site.app.registry.introspector.get_category("views"):
        view = item["introspectable"]
        if not view["route_name"] or view["route_name"] == "authsite.static":
            continue
        methods = view["request_methods"]
        methods = {methods} if isinstance(methods, str) else set(methods)
        found |= {(view["route_name"], method) for method in methods}
    return found


def walk(site, keys):
    """Everything, in several ways where there are several; ``keys`` of the first-party client."""
    tokens(site, keys)
    an_account(site, keys)
    pages(site)
    address_changes(site)
    new_device(site)
    unauthenticated(site, keys)
    sending(site)
    late(site, keys)


def tokens(site, keys):
    """All grants and both doors; a replay; the ways out."""
    site.user(username="annlee", phone="030 2345678")
    for name in ("ann@example.com", "annlee", "030 2345678"):
        pair = site.login(keys, name)
    fresh = site.refresh(keys, pair["refresh_token"])
    site.refresh(keys, pair["refresh_token"])  # within the grace
    site.refresh(keys, fresh["refresh_token"])
    site.refresh(keys, pair["refresh_token"], status=400)  # a replay
    site.me(fresh["access_token"], status=401)
    machine = site.client("personal")
    own = site.token(machine, grant_type="client_credentials").json
    own = site.refresh(machine, own["refresh_token"])
    for token in (own["access_token"], own["refresh_token"]):
        site.introspect(machine, token)
    site.introspect(site.client("resource-server"), own["access_token"])
    site.revoke(machine, own["refresh_token"])
    site.logout(site.login(keys)["access_token"])
    web = "/v1/clients/web"
    login = {"username": "ann@example.com", "password": PASSWORD}
    for path in ("login", "users/login"):
        answer = site.http.post_json(f"{web}/{path}", login).json
    site.http.post_json(f"{web}/refresh", {})  # by the cookie
    again = {"refresh_token": answer["refresh_token"]}
    headers = bearer(site.http.post_json(f"{web}/refresh", again).json["access_token"])
    for path in ("/v1/profile", "/v1/guard/api"):
        site.http.get(path, headers=headers)
    site.http.delete("/v1/logout/", headers=headers)
    site.http.reset()


def an_account(site, keys):
    """From registering to erasing, by API."""
    page = f"{base_of(site)}/email/verify"
    body = {"email": "bo@example.com", "password": PASSWORD, "verification_url": page}
    site.http.post_json("/v1/register", body)
    site.http.post_json("/v1/register", body, status=422)
    headers = bearer(site.login(keys, "bo@example.com")["access_token"])
    asked = {"verification_url": page}
    site.http.post_json("/v1/email/verification-notification", asked, headers=headers)
    for mail in site.mails():
        for method in (site.http.get, site.http.post):
            method(signed(site, mail))
    site.http.patch_json("/v1/user", {"name": "Bo", "username": "bob77"}, headers=headers)
    change = {"email": "bob@example.org", "current_password": PASSWORD, "verification_url": page}
    site.http.put_json("/v1/user/email", change, headers=headers)
    site.http.get("/v1/user/email/pending", headers=headers)
    site.http.delete("/v1/user/email/pending", headers=headers)
    site.http.put_json("/v1/user/email", change, headers=headers)
    site.http.put_json("/v1/user/email", {**change, "email": "ann@example.com"}, headers=headers,
                       status=422)  # fmt: skip
    for mail in site.mails():
        if mail["To"] == "bob@example.org":
            site.http.get(signed(site, mail))
    headers = bearer(site.login(keys, "bob@example.org")["access_token"])
    personal_tokens(site, headers)
    body = {"current_password": PASSWORD, "password": NEW}
    site.http.put_json("/v1/user/password", body, headers=headers)
    for _ in range(2):
        other = site.login(keys, "bob@example.org", NEW)
    sign_in(site, "bob@example.org", NEW)
    for place in site.http.get("/v1/user/sessions", headers=headers).json["sessions"]:
        if not place["current"]:
            site.http.delete(f"/v1/user/sessions/{place['id']}", headers=headers)
    site.me(other["access_token"], status=401)
    site.http.reset()
    forgot = {"email": "bob@example.org", "reset_url": f"{base_of(site)}/password/reset"}
    site.http.post_json("/v1/password/forgot", forgot)
    token = mails.link_in(site.mails()[-1]).partition("token=")[2].partition("&")[0]
    body = {"email": "bob@example.org", "token": token, "password": NEWER}
    site.http.post_json("/v1/password/reset", body)
    site.http.post_json("/v1/password/reset", body, status=422)
    headers = bearer(site.login(keys, "bob@example.org", NEWER)["access_token"])
    site.http.delete_json("/v1/user", {"current_password": NEWER}, headers=headers)


def personal_tokens(site, headers):
    """A personal access token: created, used, listed, mailed about, revoked."""
    body = {"name": "backup", "current_password": PASSWORD}
    made = site.http.post_json("/v1/user/tokens", body, headers=headers).json
    site.me(made["token"])
    site.http.get("/v1/user/tokens", headers=headers)
    site.mails()
    site.http.delete(f"/v1/user/tokens/{made['id']}", headers=headers)


def pages(site):
    """Every page and every form."""
    for path in ("/", "/app", "/docs", "/v1/openapi.json", "/register", "/email/link"):
        site.http.get(path)
    for path in ("/healthz", "/readyz"):
        site.http.get(path)
    site.http.get("/metrics", headers=bearer(METRICS_TOKEN))
    for path in {"", urlsplit(base_of(site)).path}:
        site.http.get(f"/.well-known/oauth-authorization-server{path}")
    form = {"email": "cy@example.com", "password": PASSWORD}
    submit(site, "/register", name="Not Cy", **form)
    site.http.reset()
    link = mails.link_in(site.mails()[-1])
    url = site.http.get(link).forms[0]["url"].value
    site.http.get(f"/email/verify/disown?{link.partition('?')[2]}")
    submit(site, "/email/verify/disown", page=link, url=url)
    submit(site, "/register", name="Cy", **form)
    submit(site, "/register/check", page="/register", password=NEW)
    site.http.reset()
    submit(site, "/email/link", email="cy@example.com")
    for mail in site.mails():
        shown = site.http.get(mails.link_in(mail))
        url = shown.forms[0]["url"].value
        site.http.post("/email/verify", {"csrf_token": csrf_of(shown), "url": url})
    submit(site, "/password/forgot", email="cy@example.com")
    link = mails.link_in(site.mails()[-1])
    site.http.get(link)
    token = link.partition("token=")[2].partition("&")[0]
    submit(site, "/password/reset/check", page=link,
           email="cy@example.com", token=token, password=NEW)  # fmt: skip
    submit(site, "/password/reset", page=link,
           email="cy@example.com", token=token, password=NEW)  # fmt: skip
    site.http.get("/v1/guard/web?redirect=1", status=302)
    sign_in(site, "cy@example.com", NEW, remember="1")
    site.http.get("/v1/guard/web")
    account(site, "/profile", name="Cyd", username="cyd77", phone="030 7654321")
    account(site, "/email", email="cyd@example.org", current_password=NEW)
    account(site, "/email/resend")
    submit(site, "/account/password/check", page="/account", password=NEWER)
    account(site, "/password", current_password=NEW, password=NEWER)
    fields = {"name": "script", "expires_in": "7d", "current_password": NEWER}
    made = submit(site, "/account/tokens", page="/account", **fields)
    assert made.status_int == 200, made
    token = made.html.find("form", action=re.compile("/revoke$"))["action"]
    token = token.removeprefix(urlsplit(base_of(site)).path)
    submit(site, token, page="/account")
    account(site, "/sessions/end-others")
    site.http.reset()  # another browser
    sign_in(site, "cy@example.com", NEWER)
    shown = site.http.get("/account")
    path = next(form.action for form in shown.forms.values() if form.action.endswith("/end"))
    submit(site, path.removeprefix(urlsplit(base_of(site)).path), page="/account")
    submit(site, "/logout", page="/account")
    sign_in(site, "cy@example.com", NEWER)
    for form in ("/logout", "/.well-known/change-password", path, token, *ACCOUNT_FORMS):
        site.http.get(form)
    account(site, "/delete", current_password=NEWER)
    site.http.reset()


def address_changes(site):
    """The address changed on the pages: canceled in two ways, completed, and taken back."""
    old, new = "di@example.com", "dina@example.org"
    site.user(old, confirmed=True)
    sign_in(site, old)
    change = {"email": new, "current_password": PASSWORD}
    account(site, "/email", **change)
    account(site, "/email/cancel")
    site.mails()
    account(site, "/email", **change)
    undo(site, old, "cancel")
    account(site, "/email", **change)
    link = next(mails.link_in(mail) for mail in site.mails() if mail["To"] == new)
    submit(site, "/email/verify", page=link, url=site.http.get(link).forms[0]["url"].value)
    undo(site, old, "revert")
    site.mails()
    site.http.reset()


def new_device(site):
    """A sign-in from elsewhere, ended with the link of its notice."""
    site.user("ed@example.com", confirmed=True)
    sign_in(site, "ed@example.com")
    site.http.reset()
    elsewhere = {"REMOTE_ADDR": "198.51.100.99"}
    here, site.http.extra_environ = site.http.extra_environ, site.http.extra_environ | elsewhere
    sign_in(site, "ed@example.com")
    link = next(mails.link_in(mail) for mail in site.mails() if mail["To"] == "ed@example.com")
    site.http.reset()
    site.http.extra_environ = here
    token = link.partition("token=")[2]
    answer = submit(site, "/login/not-me", page=link, token=token)
    assert answer.status_int == 200, answer


def undo(site, address, what):
    """Press the button of the page that the latest mail to ``address`` leads to."""
    text = next(mails.text_of(mail) for mail in site.mails() if mail["To"] == address)
    link = re.search(rf"^\S+/email/change/{what}\?token=\S+$", text, re.MULTILINE)[0]
    token = link.partition("token=")[2]
    answer = submit(site, f"/email/change/{what}", page=link, token=token)
    assert answer.status_int == 200, answer


def account(site, path, **fields):
    """A form of the account page."""
    answer = submit(site, f"/account{path}", page="/account", **fields)
    assert answer.status_int == 303, answer


def unauthenticated(site, keys):
    """Whoever is refused, until the limits refuse them."""
    site.me("at_nothing", status=401)
    for _ in range(7):
        site.try_login(keys)
        site.try_login(keys, username="nobody@example.com")
    site.token(keys, status=400, grant_type="password", username="x", password="y")
    forgot = {"email": "nobody@example.com", "reset_url": f"{base_of(site)}/password/reset"}
    site.http.post_json("/v1/password/forgot", forgot, status=202)


def sending(site):
    """What senders do besides sending."""
    mails.put(site)
    site.mails()
    renew(site.database, clock.now(), "sender", uuid4())
    release(site.database, "sender", [uuid4()])


def late(site, keys):
    """An hour later: uses are written down; and the counters are swept."""
    site.user("dee@example.com")
    token = site.login(keys, "dee@example.com")["access_token"]
    sign_in(site, "dee@example.com")
    ago = clock.now() - timedelta(hours=2)
    with site.db() as db:
        user = users.find(db, "dee@example.com")
        for model, values in ((Family, {"rotated_at": ago}), (BrowserSession, {"used_at": ago})):
            db.execute(update(model).where(model.user_id == user.id).values(values))
    site.me(token)
    site.http.get("/account", status=200)
    storage = DatabaseStorage(site.database)
    storage._until_sweep = 1  # as after many writes
    storage.incr("something", 60)


def base_of(site):
    """The address that the site's users know."""
    return next(iter(site.cfg.base_url), "http://localhost")


def signed(site, mail):
    """The signed URL in a mail, as path and query."""
    link = mails.link_in(mail)
    return parse_qs(urlsplit(link).query)["url"][0].removeprefix(base_of(site))
