"""The pages on the way to an application, for the gallery: sign-in, consent, refusals, logout."""

from urllib.parse import urlencode
from uuid import uuid4

from authsite.oauth.models import POST_LOGOUT, ClientUri
from authsite.users.models import User
from tests.support import applications
from tests.support.authorizing import application, parameters
from tests.support.site import PASSWORD
from tests.system.browser.people import EMAIL

WIKI = "https://wiki.example.test"
RESOURCE = f"{WIKI}/reports"
PROGRAM = "com.example.hiking:/callback"
LINKS = {"policy_uri": f"{WIKI}/policy", "tos_uri": f"{WIKI}/terms"}
NOBODY = "bo@example.com"
ADDRESS = {"AUTHSITE_BASE_URL": "http://localhost:{port}"}  # for `serving`
FEW, ALL = "openid email", "openid profile email phone offline_access reports:read reports:write"


class Applications:
    """The applications, and the users that they sign in: one confirmed, one not."""

    def __init__(self, site):
        uris = [f"{WIKI}/callback"]
        scope = "reports:read reports:write"
        ann = site.user(EMAIL, confirmed=True)
        site.user(NOBODY)
        with site.db() as db:
            known = db.get(User, ann.id)
            known.name, known.username = "Ann Hohenlohe-Langenburg", "ann"
            known.phone = "+4930901820"
        self.wiki = application(site, redirect_uris=uris, name="Hiking club", scope=scope, **LINKS)
        applications.resource(site, RESOURCE, scope, None)
        self.long = application(site, redirect_uris=uris, name="x" * 100)
        self.own = application(site, redirect_uris=uris, name="Intranet", first_party=True)
        self.staff = application(site, redirect_uris=uris, name="Accounts", require_group="staff")
        self.program = application(site, "native", redirect_uris=[PROGRAM], name="Hiking desktop")
        with site.db() as db:
            db.add(
                ClientUri(
                    id=uuid4(),
                    client_id=self.wiki.id, kind=POST_LOGOUT, uri=f"{WIKI}/bye", position=0,
                )
            )  # fmt: skip


def _ask(ann, app, **changed):
    ann.go(f"/oauth/authorize?{urlencode(parameters(app, **changed))}")


def _log_in(ann, email):
    ann.fill(username=email, password=PASSWORD)
    ann.press("Sign in")


def _decide(ann, decision="allow"):
    ann.page.locator(f"button[value={decision}]").click()


def on_the_way(ann, apps):
    """Ann signs in for applications, and out again; yields the name of each state."""
    # 204: the browser stays on the page that leads there.
    ann.page.context.route(f"{WIKI}/**", lambda route: route.fulfill(status=204))
    _ask(ann, apps.wiki, scope=FEW)
    yield "login-application"
    _log_in(ann, EMAIL)
    ann.page.locator(".consent").wait_for()
    yield "consent"
    with ann.led_to(WIKI):
        _decide(ann)
    ann.page.locator("a.primary").wait_for()
    yield "continue-application"
    for state, app, changed in (
        ("consent-more", apps.wiki, {"scope": ALL}),
        ("consent-resource", apps.wiki, {"scope": ALL, "resource": RESOURCE}),
        ("consent-long", apps.long, {}),
        ("consent-first-party", apps.own, {"prompt": "consent"}),
        ("consent-program", apps.program, {}),
        ("select-account", apps.wiki, {"prompt": "select_account"}),
        ("refused-group", apps.staff, {}),
        ("refused-redirect", apps.wiki, {"redirect_uri": f"{WIKI}:8443/Callback/"}),
        ("refused-client", apps.wiki, {"client_id": "unknown"}),
        ("refused-no-redirect", apps.wiki, {"redirect_uri": None}),
    ):
        _ask(ann, app, **changed)
        ann.page.locator("h1").wait_for()
        yield state
    ann.go("/account/security")
    yield "consents"
    ann.page.locator("section[aria-labelledby=consents] summary").first.click()
    yield "consents-remove"
    ann.page.locator("section[aria-labelledby=consents] button.danger").first.click()
    ann.page.locator(".notice[role=status]").wait_for()
    yield "consents-removed"
    ann.go("/oauth/logout?id_token_hint=x")
    yield "logout-problem"
    leave = f"/oauth/logout?client_id={apps.wiki.client_id}&post_logout_redirect_uri={WIKI}/bye"
    ann.go(leave)
    yield "logout-application"
    ann.page.context.clear_cookies(name="authsite")
    ann.go(leave)
    yield "logout-nobody"
    _ask(ann, apps.wiki)
    _log_in(ann, NOBODY)
    ann.page.locator(".emblem").wait_for()
    yield "confirm-address"
    ann.page.context.clear_cookies(name="authsite")
    # Last, since a browser that asks whether to open a program takes no other press.
    _ask(ann, apps.program)
    _log_in(ann, EMAIL)
    _decide(ann)
    ann.page.locator("a.primary").wait_for()
    yield "continue-program"
