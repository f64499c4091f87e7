"""The part of `tests.support.walk` about second factors on the pages."""

import json
import re
from datetime import timedelta
from urllib.parse import urlsplit

import pyotp

from authsite.platform.runtime import clock
from authsite.sign_in.factors import remaining
from authsite.users.models import User
from tests.support import mails
from tests.support.authenticator import Authenticator
from tests.support.pages import hidden_in, sign_in, submit
from tests.support.site import PASSWORD

EMAIL = "vera@example.com"
SECURITY = "/account/security"
FACTORS = "/account/factors"
FORMS = ("later", "codes", "after-password", "browsers", "totp/mail", "totp/confirm")
MORE_FORMS = ("totp/remove", "passkeys/mail", "passkeys/add")
_RECOVERY = re.compile(r"\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){5}\b")
_CODE = re.compile(r"\b([A-Z]{4}-[A-Z]{4})\b")


def factor_pages(site):
    """Factors added, asked for, and removed on the pages."""
    vera = site.user(EMAIL, confirmed=True)
    sign_in(site, EMAIL)
    site.mails()
    for kind in ("totp", "passkeys"):
        _post(site, f"{kind}/mail", page=f"{FACTORS}/{kind}", status=200)
    app = _add_app(site, mails.text_of(site.mails()[-1]))
    _post(site, "later")
    made = _post(site, "codes", current_password=PASSWORD, status=200)
    passkey = _add_passkey(site)
    for form in ("", "totp", "passkeys", *FORMS, *MORE_FORMS):
        site.http.get(f"{FACTORS}/{form}".rstrip("/"))
    for form in ("name", "remove"):
        site.http.get(f"{FACTORS}/passkeys/{passkey}/{form}")
    _post(site, f"passkeys/{passkey}/name", name="Phone")
    _post(site, "after-password", after_password="true", current_password=PASSWORD)
    submit(site, "/logout")
    sign_in(site, EMAIL)
    for path in ("/login/factor", "/login/factor/mail"):
        site.http.get(path)
    submit(site, "/login/factor/mail", page="/login/factor")
    code = app.at(clock.now() + timedelta(seconds=30))
    answer = submit(site, "/login/factor", method="totp", code=code, remember_browser="1")
    assert answer.status_int == 303, answer
    site.http.get("/login/factor/done", status=302)
    answer = submit(site, "/login/factor/done", page="/account")
    assert answer.status_int == 303, answer
    _post(site, "browsers")
    _verify(site, _RECOVERY.search(made.text)[0])
    _remove_remaining(site, vera, passkey)
    passkey = _add_passkey(site)
    _post(site, f"passkeys/{passkey}/remove", current_password=PASSWORD)
    _post(site, "totp/remove", current_password=PASSWORD)
    site.http.reset()


def _remove_remaining(site, user, factor):
    """On the page to which a recovery leads."""
    with site.db() as db:
        user = db.get(User, user.id)
    ring = site.app.registry["authsite"].keys[remaining.PURPOSE]
    page = f"{FACTORS}/remaining/{remaining.make_token(ring, user.id, user.recovery_version)}"
    site.http.get(page, status=200)
    site.http.get(f"{page}/{factor}/remove", status=302)
    submit(site, f"{page}/{factor}/remove", page=page)


def _verify(site, code):
    """Prove again, with a recovery code; and ask for a mailed code, as without a password."""
    site.http.get("/login/verify/mail", status=303)
    page = f"/login/verify?max_age=0&next={SECURITY}"
    given = {"method": "recovery_code", "code": code, "max_age": "0", "current_password": PASSWORD}
    answer = submit(site, "/login/verify", page=page, **given)
    assert answer.status_int == 303, answer
    answer = submit(site, "/login/verify/mail", page=page)
    assert answer.status_int in (303, 422), answer


def _post(site, form, page=SECURITY, status=303, **fields):
    answer = submit(site, f"{FACTORS}/{form}", page=page, **fields)
    assert answer.status_int == status, answer
    return answer


def _add_app(site, mail):
    """The authenticator app that is added with the code in ``mail``."""
    page = f"{FACTORS}/totp"
    fields = {"current_password": PASSWORD, "mail_code": _CODE.search(mail)[1]}
    shown = _post(site, "totp", page=page, status=200, **fields)
    app = pyotp.TOTP(shown.html.find("p", class_="key").text.replace(" ", ""))
    fields = {"enrollment": hidden_in(shown, "enrollment"), "code": app.at(clock.now())}
    _post(site, "totp/confirm", page=page, status=200, **fields)
    return app


def _add_passkey(site):
    """The id of a passkey that is added."""
    page = f"{FACTORS}/passkeys"
    shown = _post(site, "passkeys", page=page, status=200, current_password=PASSWORD)
    options = json.loads(shown.html.find("form", {"data-passkey": "create"})["data-options"])
    base = urlsplit(next(iter(site.cfg.base_url), "http://localhost"))
    made = Authenticator().create(options, origin=f"{base.scheme}://{base.netloc}")
    _post(site, "passkeys/add", page=page, credential=json.dumps(made))
    return re.search(r"passkeys/([0-9a-f-]{36})/", site.http.get(SECURITY).text)[1]
