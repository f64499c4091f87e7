"""A second proof that these tests register: a word that is the same for everyone."""

from sqlalchemy import select

from authsite.oauth.models import MFA_GRANT, Family
from authsite.platform.audit.models import AuditEvent
from authsite.sign_in import gate
from authsite.sign_in.method import Method, Wrong
from authsite.sign_in.pending import PendingLogin
from tests.support.site import WEB

RIGHT = "four six"


def verify(ctx, _target, given, pending):
    if given["code"] == "used":
        return Wrong("code_used")
    return gate.admit(ctx, pending.account, ("otp",)) if given["code"] == RIGHT else None


WORD = Method(
    "word", ("otp",), offered=lambda _ctx, account: account is not None, verify=verify, always=True
)


def with_word(config):
    """What ``build`` of `host_with` does."""
    config.add_sign_in_method(WORD)


def made(host_with, **options):
    """A site whose users give the word, with a client and Ann."""
    site = host_with(with_word, **{"limits": "on", **WEB, **options})
    site.keys = site.client(scope="a b", default_scope="a")
    site.web = site.first_party("web")
    site.ann = site.user(confirmed=True)
    return site


def begin(site, **form):
    """Give the right password; the answer."""
    return site.login(site.keys, status=400, **form)


def go_on(site, token, code=RIGHT, status=200, *, keys=None, **form):
    """The grant of the second step; the answer's JSON."""
    form = {"mfa_token": token, "mfa_method": "word", "code": code, **form}
    return site.token(keys or site.keys, status, grant_type=MFA_GRANT, **form).json


def codes_of(answer):
    return [each["code"] for each in answer.get("errors", [])]


def rows(site, model=PendingLogin):
    with site.db() as db:
        return db.scalars(select(model)).all()


def families(site):
    return rows(site, Family)


def details_of(site, event):
    """The details of the latest event of this name."""
    with site.db() as db:
        query = select(AuditEvent.details).where(AuditEvent.event == event)
        return db.scalars(query.order_by(AuditEvent.id.desc())).first()
