"""A change of address by somebody with the owner's session and password."""

import re

from authsite.users.models import FormerAddress, User
from tests.account.test_email_change import change, path_in
from tests.support.mails import text_of
from tests.support.site import PASSWORD

OLD, NEW, THIRD = "ann@example.com", "eve@evil.example", "eve2@evil.example"
REVERT = "http://localhost/email/change/revert"


class Story:
    """Ann's account, whose address somebody with her session and password changes."""

    def __init__(self, site, *, confirmed=True):
        self.site, self.keys = site, site.client()
        self.user = site.user(OLD, confirmed=confirmed)

    def change(self, old=OLD, new=NEW, password=PASSWORD):
        """Change the address and confirm the new one; the link in the mail to the former one."""
        token = self.site.login(self.keys, old, password)["access_token"]
        change(self.site, token, new)
        mails = {mail["To"]: mail for mail in self.site.mails()}
        self.site.http.get(path_in(mails[new]), status=200)
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
    found = re.search(rf"^{re.escape(REVERT)}\?token=\S+$", text_of(mail), re.MULTILINE)
    return found and found[0]
