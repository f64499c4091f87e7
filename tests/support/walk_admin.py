"""The part of the walk through every view that is for administrators: console and API."""

from uuid import UUID

from sqlalchemy import select, update

from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.groups.labels import ADMIN_SCOPES
from authsite.users.models import User
from tests.support import administrators, personal
from tests.support.factors import add_passkey, add_totp
from tests.support.pages import csrf_of

WHY = {"reason": "asked for by phone"}
API = "/v1/admin"
WALKED = {
    **administrators.SETTINGS,
    "limits": "on",
    "limits_storage": "database",
    "base_url": "http://localhost",
    "scopes": "\n  notes:read: Read notes",
    "personal_token_scopes": "notes:read",
}


class Administration:
    """An owner in a browser, with an access token, who acts at Ann."""

    def __init__(self, site):
        self.site = site
        self.owner = administrators.signed_in(site, "owner")
        self.ann = site.user("ann@example.com", confirmed=True, name="Ann")
        self.at = f"{API}/users/{self.ann.id}"
        self.page_at = f"/admin/users/{self.ann.id}"
        self.headers = administrators.token(site, " ".join(sorted(ADMIN_SCOPES)))
        with site.db() as db:  # that of the browser, as well
            db.execute(update(BrowserSession).values(auth_at=clock.now()))

    def call(self, method, path, **body):
        """A call of the API; its JSON."""
        params = {} if method == "get" else {"params": body}
        do = self.site.http.get if method == "get" else getattr(self.site.http, f"{method}_json")
        answer = do(path, headers=self.headers, status="*", **params)
        assert answer.status_int < 400, (method, path, answer.text)
        return answer.json if answer.body and answer.content_type == "application/json" else None

    def press(self, path, **fields):
        """Open a confirming page, and press its button."""
        shown = self.site.http.get(path, status="*")
        assert shown.status_int == 200, (path, shown)
        form = {"csrf_token": csrf_of(shown), **WHY, **fields}
        answer = self.site.http.post(path, form, status="*")
        assert answer.status_int < 400, (path, answer.text)
        return answer

    def see(self, *paths):
        for path in paths:
            assert self.site.http.get(path, status="*").status_int == 200, path


def administration(site):
    """Every view of console and API for administrators."""
    walk = Administration(site)
    reading(walk)
    belongings(walk)
    accounts(walk)
    groups(walk)
    invitations(walk)
    clients(walk)
    mails(walk)
    ends(walk)


def reading(walk):
    """What is only read, each list with each of its filters and with a cursor."""
    with walk.site.db() as db:
        noted = select(AuditEvent.request_id).where(AuditEvent.request_id.is_not(None))
        request = db.scalars(noted.limit(1)).one()
    walk.see(
        "/admin", "/admin/users", "/admin/users?q=ann", "/admin/users?q=name:an",
        "/admin/users?disabled=true", "/admin/users?confirmed=false", "/admin/clients",
        "/admin/groups", "/admin/groups/authsite:owner", "/admin/invitations", "/admin/audit",
        f"/admin/audit?user={walk.ann.id}", "/admin/audit?event=user.created", "/admin/audit.csv",
        f"/admin/audit/explain/{request}", "/admin/mail", "/admin/mail?state=dead", "/admin/health",
        "/admin/settings", walk.page_at, "/admin/groups/authsite:owner/add",
    )  # fmt: skip
    for query in (
        "users", "users?q=ann", f"users?q={walk.ann.id}", "users?q=name:an", "users?disabled=true",
        "users?confirmed=false", "users?group=authsite:owner",
        "users?created_after=2026-01-01T00:00:00Z",
        "events", f"events?user={walk.ann.id}", "events?event=user.created",
        "events?address=192.0.2.1", "events/export", f"events/explain/{request}", "seals", "groups",
        "groups/authsite:owner", "groups/authsite:owner/members",
        f"groups/authsite:owner/members/{walk.owner.id}", "invitations", "clients", "mails",
        "mails?state=dead", "health", "settings", "me",
    ):  # fmt: skip
        found = walk.call("get", f"{API}/{query}")
        if found and "next" in found and found["data"]:
            separator = "&" if "?" in query else "?"
            one = walk.call("get", f"{API}/{query}{separator}limit=1")
            if one["next"]:
                walk.call("get", f"{API}/{query}{separator}limit=1&cursor={one['next']}")
    for part in ("", "/sessions", "/tokens", "/factors", "/mails", "/events", "/limits", "/export"):
        walk.call("get", f"{walk.at}{part}")


def belongings(walk):
    """Sign-ins, tokens, factors, browsers and limits of a user, by API and by console."""
    site = walk.site
    keys = site.client(scope="notes:read")

    def new_session():
        tokens = site.login(keys, scope="notes:read")["access_token"]
        personal.created(site, tokens, scope="notes:read")
        return walk.call("get", f"{walk.at}/sessions")["data"][0]["id"]

    def new_token():
        new_session()
        return walk.call("get", f"{walk.at}/tokens")["data"][0]["id"]

    def new_factor():
        add_totp(site, walk.ann)
        add_passkey(site, walk.ann)
        return walk.call("get", f"{walk.at}/factors")["data"][0]["id"]

    walk.call("delete", f"{walk.at}/tokens/{new_token()}", **WHY)
    walk.call("delete", f"{walk.at}/sessions/{new_session()}", **WHY)
    walk.press(f"{walk.page_at}/tokens/{new_token()}")
    walk.press(f"{walk.page_at}/sessions/{new_session()}")
    new_token()
    walk.call("delete", f"{walk.at}/tokens", **WHY)
    new_token()
    walk.press(f"{walk.page_at}/tokens")
    new_session()
    walk.call("delete", f"{walk.at}/sessions", **WHY)
    walk.call("delete", f"{walk.at}/factors/{new_factor()}", **WHY)
    walk.see(walk.page_at)
    walk.call("delete", f"{walk.at}/factors", **WHY)
    walk.press(f"{walk.page_at}/factors/{new_factor()}")
    walk.call("post", f"{walk.at}/reset-factors", **WHY)
    new_factor()
    walk.press(f"{walk.page_at}/reset-factors")
    walk.press(f"{walk.page_at}/forget-browsers")
    walk.call("delete", f"{walk.at}/limits", **WHY)
    walk.press(f"{walk.page_at}/lift-limits")


def accounts(walk):
    """What is done with the account itself."""
    for what in ("disable", "enable", "confirm", "sign-out", "reset-password", "send-verification"):
        walk.call("post", f"{walk.at}/{what}", **WHY)
        walk.press(f"{walk.page_at}/{what}")
    walk.call("patch", walk.at, name="Ann Lee", **WHY)
    walk.press(f"{walk.page_at}/profile", name="Ann")
    walk.call("post", f"{walk.at}/change-email", email="ann.lee@example.com", **WHY)
    walk.press(f"{walk.page_at}/change-email", email="ann.b@example.com")
    walk.press(f"{walk.page_at}/groups", group="authsite:viewer")
    walk.press(f"{walk.page_at}/groups")
    walk.press(f"{walk.page_at}/export")


def groups(walk):
    """Groups and their members."""
    member = f"members/{walk.ann.id}"
    walk.call("post", f"{API}/groups", name="ops", title="Ops")
    walk.call("patch", f"{API}/groups/ops", title="Operations")
    walk.call("put", f"{API}/groups/ops/{member}")
    walk.call("get", f"{API}/groups/ops/{member}")
    walk.call("delete", f"{API}/groups/ops/{member}")
    walk.press("/admin/groups/ops/add", user="ann@example.com")
    walk.see("/admin/groups/ops", "/admin/users?group=ops")
    walk.press(f"/admin/groups/ops/{member}/remove")
    walk.press("/admin/groups/ops/change", title="Ops")
    walk.press("/admin/groups/ops/delete")
    walk.press("/admin/new-group", name="ops", title="Ops")
    walk.call("delete", f"{API}/groups/ops")


def invitations(walk):
    """Invitations that stay open, or are revoked."""
    for number in range(2):
        made = walk.call("post", f"{API}/invitations", email=f"new{number}@example.com")["id"]
        walk.call("get", f"{API}/invitations/{made}")
        walk.call("post", f"{API}/invitations/{made}/resend")
    walk.call("delete", f"{API}/invitations/{made}")
    walk.press("/admin/invitations/new", email="new3@example.com")
    made = walk.call("get", f"{API}/invitations")["data"][0]["id"]
    walk.see("/admin/invitations")
    walk.press(f"/admin/invitations/{made}/resend")
    walk.press(f"/admin/invitations/{made}/revoke")


def clients(walk):
    """Two clients: one made by API, one by console."""
    made = walk.call("post", f"{API}/clients", name="Nightly", type="personal")
    id_ = made.get("client_id") or made["id"]
    one = f"{API}/clients/{id_}"
    walk.call("get", one)
    walk.call("patch", one, name="Hourly")
    for what in ("rotate-secret", "retire-secret", "disable", "enable"):
        walk.call("post", f"{one}/{what}")
    gone = walk.call("post", f"{API}/clients", name="Gone", type="personal")["client_id"]
    walk.call("post", f"{API}/clients/{gone}/disable")
    walk.call("delete", f"{API}/clients/{gone}", name="Gone")
    walk.press("/admin/clients/new", name="Weekly", type="personal")
    with walk.site.db() as db:
        weekly = db.scalars(select(Client.id).where(Client.name == "Weekly")).one()
    page = f"/admin/clients/{weekly}"
    walk.see(page)
    walk.press(f"{page}/change", name="Monthly")
    for what in ("rotate-secret", "retire-secret", "disable", "enable"):
        walk.press(f"{page}/{what}")


def mails(walk):
    """Mails that are dead, and mails that wait."""

    def mail(state):
        with walk.site.db() as db:
            found = db.scalars(select(OutboxMessage.id).where(OutboxMessage.kind == "reset"))
            id_ = found.first()
            db.execute(update(OutboxMessage).where(OutboxMessage.id == id_).values(state=state))
        return id_

    walk.call("post", f"{walk.at}/reset-password", **WHY)
    walk.call("post", f"{API}/mails/{mail('dead')}/retry")
    walk.press(f"/admin/mail/{mail('dead')}/retry")
    walk.call("post", f"{API}/mails/{mail('waiting')}/cancel")
    walk.press(f"/admin/mail/{mail('waiting')}/cancel")


def ends(walk):
    """Ann's account, by API, and another by console."""
    bo = walk.site.user("bo@example.com", confirmed=True)
    with walk.site.db() as db:
        email = db.get(User, UUID(str(walk.ann.id))).email
    walk.call("delete", walk.at, email=email, **WHY)
    walk.press(f"/admin/users/{bo.id}/delete", email="bo@example.com")
