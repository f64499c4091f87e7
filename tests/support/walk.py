"""One walk through everything that a request can ask the service for.

`walked` sees which views answered, so that a test can insist on all of them.
"""

from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

from pyramid.interfaces import INewResponse
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.mail.leases import release, renew
from authsite.platform.rate_limit.storage import DatabaseStorage
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from tests.support import connected, mails
from tests.support.pages import sign_in
from tests.support.site import PASSWORD, WEB, bearer
from tests.support.walk_authorization import a_registration, an_authorization
from tests.support.walk_factor_pages import factor_pages
from tests.support.walk_factors import an_app
from tests.support.walk_mfa import second_steps
from tests.support.walk_pages import (
    METRICS_TOKEN,
    NEW,
    NEWER,
    address_changes,
    base_of,
    connect,
    new_device,
    pages,
)
from tests.support.walk_passkeys import passkeys

# Limits in the database: that is where they make statements.
SETTINGS = {
    "limits": "on",
    "metrics_token": METRICS_TOKEN,
    "limits_storage": "database",
    "limits.register_address": "100/hour",
    "limits.login_address": "1000/hour",
    "email_sign_in": "on",
    "login_identifiers": "email username phone",
    "phone_region": "DE",
    "passkey_origins": "https://shop.example",
    "client_registration": "open",
    **WEB,
}


@contextmanager
def walked(site):
    """The set of (route, method) that answered without an error in the block."""
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
    second_steps(site, keys)
    an_account(site, keys)
    pages(site)
    if ("authsite.authorize", "GET") in views(site):
        an_authorization(site)
        a_registration(site)
    an_app(site, keys)
    passkeys(site, keys)
    address_changes(site)
    new_device(site)
    factor_pages(site)
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
    site.mails()  # those of before
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
    site.http.post("/v1/user/mail-code", headers=headers)
    site.mails()
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
            site.http.get(signed(site, mail), headers=headers)
    headers = bearer(site.login(keys, "bob@example.org")["access_token"])
    personal_tokens(site, headers)
    connected_applications(site, headers)
    site.http.get("/v1/clients/web/providers")
    site.http.get("/v1/user/identities", headers=headers)
    identity = connect(site, "bob@example.org")
    body = {"current_password": PASSWORD}
    site.http.delete_json(f"/v1/user/identities/{identity}", body, headers=headers)
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
    body = {**mails.reset_fields(site, site.mails()[-1]), "password": NEWER}
    site.http.post_json("/v1/password/reset", body)
    site.http.post_json("/v1/password/reset", body, status=422)
    headers = bearer(site.login(keys, "bob@example.org", NEWER)["access_token"])
    site.http.post_json("/v1/user/export", {"current_password": NEWER}, headers=headers)
    site.http.delete_json("/v1/user", {"current_password": NEWER}, headers=headers)


def personal_tokens(site, headers):
    """A personal access token: created, used, listed, mailed about, revoked."""
    body = {"name": "backup", "current_password": PASSWORD}
    made = site.http.post_json("/v1/user/tokens", body, headers=headers).json
    site.me(made["token"])
    site.http.get("/v1/user/tokens", headers=headers)
    site.mails()
    site.http.delete(f"/v1/user/tokens/{made['id']}", headers=headers)


def connected_applications(site, headers):
    """A connected application: listed, and its access removed."""
    client_id = connected.application(site)
    with site.db() as db:
        bob = users.find(db, "bob@example.org")
    connected.allow(site, bob, client_id)
    site.http.get("/v1/user/consents", headers=headers)
    site.http.delete(f"/v1/user/consents/{client_id}", headers=headers)


def unauthenticated(site, keys):
    """Requests that are refused, until the limits refuse them."""
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
    site.user("lee@example.com")
    token = site.login(keys, "lee@example.com")["access_token"]
    sign_in(site, "lee@example.com")
    ago = clock.now() - timedelta(hours=2)
    with site.db() as db:
        user = users.find(db, "lee@example.com")
        for model, values in ((Family, {"rotated_at": ago}), (BrowserSession, {"used_at": ago})):
            db.execute(update(model).where(model.user_id == user.id).values(values))
    site.me(token)
    site.http.get("/account", status=200)
    storage = DatabaseStorage(site.database)
    storage._until_sweep = 1  # as after many writes
    storage.incr("something", 60)
    storage.read(["something", "else"])


def signed(site, mail):
    """The signed URL in a mail, as path and query."""
    return mails.signed_url(site, mail).removeprefix(base_of(site))
