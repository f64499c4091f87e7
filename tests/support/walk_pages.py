"""The part of `tests.support.walk` that browsers do: every page and every form."""

import re
from datetime import timedelta
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from sqlalchemy import select

from authsite.oauth.oidc.availability import is_on
from authsite.platform.runtime import clock
from authsite.users.identities import Identity
from authsite.users.models import LoginName, User
from tests.support import mails
from tests.support.invitations import Inviting
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, bearer

NEW, NEWER = "purple wolf 77 tea", "green otter 31 rye"
METRICS_TOKEN = "nJ7wq2Vx0RkLm9TzYb4cHd6FsGa8PeUi1oXvCtQy"
NO_IDENTITY = "00000000-0000-4000-8000-000000000000"
ACCOUNT_FORMS = (
    "/account/profile",
    "/account/email",
    "/account/email/resend",
    "/account/email/cancel",
    "/account/language",
    "/account/password",
    "/account/password/link",
    f"/account/identities/{NO_IDENTITY}/unlink",
    f"/account/consents/{NO_IDENTITY}/withdraw",
    f"/account/consents/{NO_IDENTITY}/end",
    "/account/sessions/end-others",
    "/account/tokens",
    "/account/export",
    "/account/delete",
)


def by_mail(site):
    """Register with the code of the mail, and sign in with the link beside one."""
    site.mails()
    submit(site, "/register", email="mia@example.com", password=PASSWORD)
    [mail] = site.mails()
    code = re.search("[A-Z]{4}-[A-Z]{4}", mails.text_of(mail))[0]
    site.http.get("/register/code")
    submit(site, "/register/code", page="/register?done=1", code=code)
    submit(site, "/logout")
    site.mails()
    site.http.get("/login/email")
    site.http.get("/login/code")
    submit(site, "/login/email", page="/login", username="mia@example.com")
    [mail] = site.mails()
    shown = site.http.get(mails.link_in(mail))
    form = {"csrf_token": csrf_of(shown), "token": shown.forms[0]["token"].value}
    site.http.post("/login/code", form)
    submit(site, "/logout")


def invited(site):
    """Register with an invitation."""
    site.mails()
    link = Inviting(site).link("ivy@example.com")
    fields = {"token": mails.token_in(link), "password": PASSWORD}
    site.http.get("/invitation")
    submit(site, "/invitation/check", page=link, **fields)
    answer = submit(site, "/invitation", page=link, **fields)
    assert answer.status_int == 303, answer
    submit(site, "/logout")
    site.mails()
    site.http.reset()


def pages(site):
    """Every page and every form."""
    for path in ("/", "/app", "/docs", "/v1/openapi.json", "/register", "/email/link"):
        site.http.get(path)
    for path in ("/healthz", "/readyz"):
        site.http.get(path)
    site.http.get("/metrics", headers=bearer(METRICS_TOKEN))
    for path in {"", urlsplit(base_of(site)).path}:
        site.http.get(f"/.well-known/oauth-authorization-server{path}")
        if is_on(site.app.registry["authsite"]):
            site.http.get(f"/.well-known/openid-configuration{path}")
            site.http.get("/.well-known/jwks.json")
    form = {"email": "cy@example.com", "password": PASSWORD}
    submit(site, "/register", name="Not Cy", **form)
    site.http.reset()
    link = mails.link_in(site.mails()[-1])
    url = site.http.get(link).forms[0]["url"].value
    query = urlencode({"url": url})
    for page in ("/email/verify", "/email/verify/disown"):
        site.http.get(f"{page}?{query}")
    submit(site, "/email/verify/disown", page=link, url=url)
    submit(site, "/register", name="Cy", **form)
    submit(site, "/register/check", page="/register", password=NEW)
    site.http.reset()
    submit(site, "/email/link", email="cy@example.com")
    for mail in site.mails():
        shown = site.http.get(mails.link_in(mail))
        url = shown.forms[0]["url"].value
        site.http.post("/email/verify", {"csrf_token": csrf_of(shown), "url": url})
    by_mail(site)
    invited(site)
    submit(site, "/password/forgot", email="cy@example.com")
    mail = site.mails()[-1]
    link, fields = mails.link_in(mail), {**mails.reset_fields(site, mail), "password": NEW}
    site.http.get(f"/password/reset?{urlencode(fields)}")
    submit(site, "/password/reset/check", page=link, **fields)
    submit(site, "/password/reset", page=link, **fields)
    site.http.get("/v1/guard/web?redirect=1", status=302)
    site.http.get("/v1/guard/any?redirect=1", status=302)
    sign_in(site, "cy@example.com", NEW, remember="1")
    site.http.get("/v1/guard/web")
    account(site, "/profile", name="Cyd", username="cyd77", phone="030 7654321")
    account(site, "/email", email="cyd@example.org", current_password=NEW)
    account(site, "/email/resend")
    account(site, "/language", language="fr")
    account(site, "/password/link")
    identity = connect(site, "cy@example.com")
    account(site, f"/identities/{identity}/unlink", current_password=NEW)
    account(site, f"/consents/{NO_IDENTITY}/withdraw")
    account(site, f"/consents/{NO_IDENTITY}/end")
    submit(site, "/account/password/check", page="/account", password=NEWER)
    account(site, "/password", current_password=NEW, password=NEWER)
    fields = {"name": "script", "expires_in": "7d", "current_password": NEWER}
    made = submit(site, "/account/tokens", page="/account", **fields)
    assert made.status_int == 200, made
    token = made.html.find("form", action=re.compile("/revoke$"))["action"]
    token = token.removeprefix(urlsplit(base_of(site)).path)
    submit(site, token, page="/account")
    for page in ("security", "access", "activity"):
        site.http.get(f"/account/{page}")
    export = submit(site, "/account/export", page="/account", current_password=NEWER)
    assert export.status_int == 200, export
    account(site, "/sessions/end-others")
    site.http.reset()  # another browser
    sign_in(site, "cy@example.com", NEWER)
    shown = site.http.get("/account/security")
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
    user = site.user(old, confirmed=True)
    with site.db() as db:
        db.get(User, user.id).email_verified_at = clock.now() - timedelta(days=8)
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
    token = mails.token_in(link)
    site.http.get(f"/login/not-me?token={token}")
    answer = submit(site, "/login/not-me", page=link, token=token)
    assert answer.status_int == 200, answer
    fields = {"token": token, "password": NEW}
    site.http.get(f"/login/not-me/password?token={token}")
    submit(site, "/login/not-me/check", page=link, **fields)
    answer = submit(site, "/login/not-me/password", page=link, **fields)
    assert answer.status_int == 200, answer


def undo(site, address, what):
    """Press the button of the page that the latest mail to ``address`` leads to."""
    text = next(mails.text_of(mail) for mail in site.mails() if mail["To"] == address)
    link = re.search(rf"^\S+/email/change/{what}/\S+$", text, re.MULTILINE)[0]
    token = mails.token_in(link)
    site.http.get(f"/email/change/{what}?token={token}")
    answer = submit(site, f"/email/change/{what}", page=link, token=token)
    assert answer.status_int == 200, answer


def connect(site, email):
    """The id of an identity with which the user can sign in."""
    with site.db() as db:
        user_id = db.scalar(select(LoginName.user_id).where(LoginName.key == email))
        row = Identity(
            id=uuid4(), user_id=user_id, provider="corp", issuer="https://idp.example.org",
            subject=email, trusted=False, created_at=clock.now(),
        )  # fmt: skip
        db.add(row)
        return row.id


def account(site, path, **fields):
    """A form of the account page."""
    answer = submit(site, f"/account{path}", page="/account", **fields)
    assert answer.status_int == 303, answer


def base_of(site):
    """The address that the site's users know."""
    return next(iter(site.cfg.base_url), "http://localhost")
