"""A user with an authenticator app, what the app shows, and the pages on which it is set up."""

from datetime import timedelta
from uuid import uuid4

import pyotp
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.factors import service
from authsite.sign_in.factors.policy import Proved
from authsite.sign_in.methods.totp import enrollment
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import hidden_in, submit
from tests.support.site import PASSWORD

PAGE = "/account/factors/totp"


class App:
    """An authenticator app. Each code is of the next step, since each serves once."""

    def __init__(self, secret):
        self._totp, self._steps = pyotp.TOTP(secret), 0

    def code(self):
        """The next code that is accepted; at most two without a rest."""
        at = clock.now() + timedelta(seconds=30 * self._steps)
        self._steps += 1
        return self._totp.at(at)

    def present(self):
        """The code that the app shows."""
        return self._totp.at(clock.now())

    def wrong(self):
        """Six digits that the app does not show in these minutes."""
        near = {self._totp.at(clock.now() + timedelta(seconds=30 * each)) for each in range(-3, 4)}
        return next(code for code in map(str, range(10**5, 10**6)) if code not in near)


def add_app(site, user):
    """Give the user an authenticator app; the app and the recovery codes."""
    services = site.app.registry["authsite"]
    with site.db() as db:
        ctx, account = acting(db, services), account_of(db.get(User, user.id))
        bound = uuid4()
        made = enrollment.begin(ctx, account, bound, Proved(("pwd",), clock.now()))
        first = pyotp.TOTP(made.secret).at(clock.now())
        new = enrollment.confirm(ctx, account, bound, made.enrollment, first)
        # As if it had been the code before: `App` begins with the code of the present step.
        id = enrollment.store(ctx, account, new._replace(step=new.step - 1))
        added = service.added(ctx, account, "totp", id, None)
    return App(made.secret), added.recovery_codes


def step_up(site):
    """The one session has just been proved with the password and an app."""
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(("pwd", "otp")), auth_at=clock.now()))


def begin(site, **fields):
    """The second step: the page with the secret."""
    return submit(site, PAGE, current_password=PASSWORD, **fields)


def secret_in(page):
    """The secret that the page shows."""
    return page.html.find("p", class_="key").text.replace(" ", "")


def confirm(site, page, code, **fields):
    """Enter the first code on that page."""
    fields["enrollment"] = hidden_in(page, "enrollment")
    return submit(site, f"{PAGE}/confirm", page=PAGE, code=code, **fields)


def rows(site, model):
    """Every row of one table."""
    with site.db() as db:
        return db.scalars(select(model)).all()


def section(site, heading="factors"):
    """A section of the security page."""
    page = site.http.get("/account/security")
    return page.html.find("section", {"aria-labelledby": heading})
