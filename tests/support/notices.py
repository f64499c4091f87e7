"""Sign-ins from new devices, and the links of their notices."""

from authsite.platform.audit.models import AuditEvent
from tests.support.mails import token_in
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD, WEB

NEW = "purple wolf 77 tea"
HEADERS = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"}


def site_of_ann(site_with):
    """A site with limits, and Ann, who has logged in at home before."""
    made = site_with(limits="on", **WEB)
    made.keys = made.first_party("web")
    made.ann = made.user(confirmed=True)
    made.login(made.keys)
    assert made.mails() == []  # the first login causes no notice
    return made


def arrive(site, address="203.0.113.9"):
    """Sign in with a browser that was never here, from ``address``; the mails that come of it."""
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = address
    sign_in(site, headers=HEADERS)
    return site.mails()


def press(site, link):
    site.http.reset()
    return submit(site, "/login/not-me", page="/login", token=token_in(link))


def use(site, cookies):
    """Be the browser with these cookies."""
    site.http.reset()
    for name, value in cookies.items():
        site.http.set_cookie(name, value)


def token_sign_in(site, address="203.0.113.9"):
    site.http.reset()
    return site.try_login(site.keys, PASSWORD, address=address).json


def events(site, name):
    with site.db() as db:
        return db.query(AuditEvent).filter_by(event=name).all()


def choose(site, link, password=NEW):
    """Choose a password on the page that the link leads to after its button."""
    site.http.reset()
    fields = {"token": token_in(link), "password": password}
    return submit(site, "/login/not-me/password", page="/login", **fields)


def reset(site, email="ann@example.com"):
    """Reset Ann's password with a link that was mailed to ``email``."""
    form = {"email": email, "token": site.reset_token(site.ann), "password": NEW}
    site.http.post_json("/v1/password/reset", form, status=200)
