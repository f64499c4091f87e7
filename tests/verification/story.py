"""A change of address by a person with the owner's session and password."""

import re
from datetime import timedelta

from authsite.platform.runtime import clock
from authsite.users.models import FormerAddress, User
from tests.account.test_email_change import change, complete, path_in
from tests.support.mails import text_of
from tests.support.site import PASSWORD

OLD, NEW, THIRD = "ann@example.com", "eve@evil.example", "eve2@evil.example"
REVERT = "http://localhost/email/change/revert"


class Story:
    """Ann's account, whose address a person with her session and password changes."""

    def __init__(self, site, *, confirmed=True):
        self.site, self.keys = site, site.client()
        self.user = site.user(OLD, confirmed=confirmed)

    def settle(self, age=timedelta(days=8)):
        """The present address, if confirmed, was confirmed ``age`` ago."""
        with self.site.db() as db:
            user = db.get(User, self.user.id)
            user.email_verified_at = user.email_verified_at and clock.now() - age

    def change(self, old=OLD, new=NEW, password=PASSWORD, *, settled=True):
        """Change the address and confirm the new one; the link in the mail to the former one.

        ``settled``: the former address had been confirmed for long enough to restore itself.
        """
        if settled:
            self.settle()
        token = self.site.login(self.keys, old, password)["access_token"]
        change(self.site, token, new)
        mails = {mail["To"]: mail for mail in self.site.mails()}
        complete(self.site, path_in(self.site, mails[new]), token)
        [self.notice] = [mail for mail in self.site.mails() if mail["To"] == old]
        return revert_link(self.notice)

    def now(self):
        with self.site.db() as db:
            return db.get(User, self.user.id)

    def kept(self):
        with self.site.db() as db:
            return [row.email for row in db.query(FormerAddress).order_by(FormerAddress.epoch)]


def revert_link(mail):
    """The link in ``mail`` that takes the change back, or None."""
    found = re.search(rf"^{re.escape(REVERT)}/\S+$", text_of(mail), re.MULTILINE)
    return found and found[0]
