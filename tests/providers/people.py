"""A person with a browser, who signs in with a fake provider."""

from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.identities import Identity
from authsite.users.models import User
from tests.support.pages import csrf_of


def go(site, name, **fields):
    """Press the button of a provider: the URL there."""
    page = site.http.get(f"/login/with/{name}", status=200)
    answer = site.http.post(
        f"/login/with/{name}", {"csrf_token": csrf_of(page), **fields}, status=200
    )
    return answer.html.select_one("a.button.primary")["href"]


def come_back(site, fake, **fields):
    """Sign in at the provider, and come back; the answer."""
    return site.http.get(fake.authorize(go(site, fake.name, **fields)), status="*")


def arrive(site, fake, **fields):
    """`come_back`, and the page that the answer leads to."""
    answer = come_back(site, fake, **fields)
    assert answer.status_int == 303, answer
    return answer.follow(status="*")


def send(page, path, **fields):
    """Send the form of the page whose path ends with ``path``; the answer."""
    form = next(each for each in page.forms.values() if each.action.endswith(path))
    for name, value in fields.items():
        form[name] = value
    return form.submit(status="*")


def users(site):
    with site.db() as db:
        return db.scalars(select(User).order_by(User.created_at)).all()


def identities(site):
    with site.db() as db:
        return db.scalars(select(Identity).order_by(Identity.created_at)).all()


def signed_in_as(site):
    """The address that the account page of this browser shows, or None."""
    answer = site.http.get("/account", status="*")
    if answer.status_int != 200:
        return None
    return answer.html.select_one("main").get_text()


def without_password(site, user):
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(password_hash=None))


def confirmed(site, user):
    """All browser sessions of the user have just been confirmed at a provider."""
    with site.db() as db:
        of_user = update(BrowserSession).where(BrowserSession.user_id == user.id)
        db.execute(of_user.values(confirmed_at=clock.now()))
