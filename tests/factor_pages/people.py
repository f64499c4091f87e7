"""A user with an authenticator app, and what the app shows."""

from datetime import timedelta
from uuid import uuid4

import pyotp

from authsite.platform.runtime import clock
from authsite.sign_in.factors import service
from authsite.sign_in.factors.offers import Proved
from authsite.sign_in.methods.totp import enrollment
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting


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
        first = pyotp.TOTP(made.secret).at(clock.now() - timedelta(seconds=30))
        new = enrollment.confirm(ctx, account, bound, made.enrollment, first)
        id = enrollment.store(ctx, account, new)
        added = service.added(ctx, account, "totp", id, None)
    return App(made.secret), added.recovery_codes
