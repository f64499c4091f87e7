"""A host with pages and an API that need a level or a recent proof, and people with factors."""

import json
from uuid import UUID

from sqlalchemy import select, update

from authsite.sign_in.credentials import amr_of, pack
from authsite.sign_in.methods.mail_code.codes import code_of
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.host import hello
from tests.support.pages import csrf_of, sign_in

OURS = "http://localhost"
LOW = 'Bearer error="insufficient_user_authentication", acr_values="{}"'


def routes(config):
    """What ``build`` of `host_with` does."""
    for guard, prefix in (("web", ""), ("api", "/api")):
        for name, options in {
            "strong": {"acr": "aal2"},
            "passkey": {"acr": "phr"},
            "recent": {"fresh": "10m"},
            "both": {"acr": "aal2", "fresh": "10m"},
            "finance": {"group": "finance"},
            "plain": {},
        }.items():
            route = f"{guard}.{name}"
            config.add_route(route, f"{prefix}/{name}", guard=guard, **options)
            config.add_view(hello, route_name=route)


def challenge(acr=None, max_age=None):
    """The header of a refusal."""
    text = 'Bearer error="insufficient_user_authentication"'
    text += f', acr_values="{acr}"' if acr else ""
    return text + (f", max_age={max_age}" if max_age else "")


def enter(site, *amr, email="ann@example.com"):
    """Sign in with the password, and make the session one that was proved by ``amr``."""
    with site.db() as db:
        asked = dict(db.execute(select(User.id, User.second_factor_at)).all())
        db.execute(update(User).values(second_factor_at=None))
    sign_in(site, email)
    with site.db() as db:
        for id, at in asked.items():
            db.execute(update(User).where(User.id == id).values(second_factor_at=at))
    if amr:
        with site.db() as db:
            db.execute(update(BrowserSession).values(facts=pack(amr)))


def signed_in_by_app(site, phone):
    """Sign in with the password and the code of the app."""
    sign_in(site)
    page = site.http.get("/login/factor")
    given = {"csrf_token": csrf_of(page), "method": "totp", "code": phone.code()}
    site.http.post("/login/factor", given, status=303)


def session(site):
    """The one session: its row."""
    with site.db() as db:
        return db.scalars(select(BrowserSession)).one()


def proved(site):
    """How the one session was proved, and when."""
    row = session(site)
    return amr_of(row.facts), row.auth_at


def asked_at(site, path):
    """Open a page that is refused; the page that asks."""
    answer = site.http.get(path, status=302)
    assert answer.location.startswith(f"{OURS}/login/verify?")
    return site.http.get(answer.location, status=200)


def give(page, status=303, **fields):
    """Fill in the form of that page."""
    form = page.forms["factor"]
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=status)


def fields(page):
    """The fields that a person sees."""
    names = {"current_password", "code", "credential", "mail_code"}
    return names & set(page.forms["factor"].fields)


def use_passkey(page, authenticator, status=303, **wrong):
    """Use the passkey on the page that asks."""
    form = page.html.find("form", id="factor")
    options = json.loads(form["data-options"])
    password = wrong.pop("current_password", None)
    more = {"current_password": password} if password else {}
    credential = json.dumps(authenticator.get(options, **wrong))
    return give(page, status, credential=credential, **more)


def without_password(site, user):
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(password_hash=None))


def label(site, user, labels):
    with site.db() as db:
        db.execute(update(User).where(User.id == UUID(str(user.id))).values(labels=labels))


def mailed_code(site):
    """The code of the mail that was asked for in the session."""
    with site.db() as db:
        row_id = db.scalars(
            select(PendingLogin.id).where(PendingLogin.session_id.is_not(None))
        ).one()
    return code_of(site.app.registry["authsite"].keys, row_id)
