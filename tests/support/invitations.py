"""Invitations: made by services, accepted on the page of the mailed link."""

from sqlalchemy import select

from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.invitations import service
from authsite.invitations.models import Invitation
from authsite.platform.audit.service import Cause
from authsite.users.models import User
from tests.support.factors import context
from tests.support.mails import link_in
from tests.support.pages import csrf_of, hidden_in
from tests.support.site import PASSWORD

COMMAND = Cause("command")


class Inviting:
    """Short words for the tests of invitations."""

    def __init__(self, site):
        self.site = site

    def group(self, name, title):
        with self.site.db() as db:
            groups.create(context(self.site, db), name, GroupValues(title), COMMAND)

    def invite(self, email="ann@example.com", group=None, cause=COMMAND):
        """A new invitation."""
        with self.site.db() as db:
            return service.create(context(self.site, db), email, group, cause).invitation

    def link(self, *given, **more):
        """The link in the mail of a new invitation."""
        self.invite(*given, **more)
        return self.mailed()

    def mailed(self):
        [mail] = [each for each in self.site.mails() if "invitation" in each["Subject"]]
        return link_in(mail)

    def accept(self, link, *, password=PASSWORD, **fields):
        """Press the button of the page; the answer."""
        shown = self.site.http.get(link, status=200)
        if shown.html.select_one("input[name=password]"):
            fields = {"password": password, **fields}
        return self.post(link, shown, **fields)

    def post(self, link, shown=None, **fields):
        """Send the form for ``link``, as it was ``shown`` before."""
        token = link.rpartition("/")[2]
        csrf = csrf_of(shown or self.site.http.get("/email/link"))
        assert shown is None or hidden_in(shown, "token") == token
        form = {"csrf_token": csrf, "token": token, **fields}
        return self.site.http.post("/invitation", form, status="*")

    def user(self, email="ann@example.com"):
        with self.site.db() as db:
            return db.scalars(select(User).where(User.email == email)).one_or_none()

    def rows(self):
        with self.site.db() as db:
            return db.scalars(select(Invitation)).all()
