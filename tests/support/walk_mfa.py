"""The part of the walk with two steps: logins of clients, with factors that users have or add."""

import json
import re
from contextlib import contextmanager

import pyotp

from authsite.oauth.models import MFA_GRANT, PASSKEY_GRANT
from tests.passkeys.passkey_users import register
from tests.support import factors
from tests.support.mails import text_of
from tests.support.site import PASSWORD

MAILED = re.compile(r"\b[A-Z]{4}-[A-Z]{4}\b")


@contextmanager
def setting(site, **values):
    """The site with these settings, in the block."""
    before = {name: getattr(site.cfg, name) for name in values}
    for name, value in values.items():
        object.__setattr__(site.cfg, name, value)  # they are frozen
    try:
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(site.cfg, name, value)


def second_steps(site, keys):
    """Logins of clients with a second step, by the token endpoint and the proxy."""
    cal = site.user("cal@example.com", confirmed=True)
    codes = factors.add_totp(site, cal)
    key = register(site, cal)
    alone(site, keys, key)
    for method, code in (("totp", factors.code_now()), ("recovery_code", codes[0])):
        answer = site.login(keys, "cal@example.com", status=400)
        step(site, keys, answer, mfa_method=method, code=code)
    answer = site.login(keys, "cal@example.com", status=400)
    used = json.dumps(key.get(answer["passkey_options"]))
    step(site, keys, answer, mfa_method="passkey", credential=used)
    step(site, keys, answer, 400, mfa_method="passkey", credential=used)
    site.login(keys, "cal@example.com", otp="000000", status=400)
    site.login(keys, "cal@example.com", otp=factors.code_now(steps=1))
    login = {"username": "cal@example.com", "password": PASSWORD}
    answer = site.http.post_json("/v1/clients/web/login", login, status=400).json
    body = {"mfa_token": answer["mfa_token"], "mfa_method": "passkey"}
    body["credential"] = key.get(answer["passkey_options"])
    site.http.post_json("/v1/clients/web/mfa", body)
    an_enrollment(site, keys)
    site.http.reset()


def alone(site, keys, key):
    """A passkey alone."""
    asked = site.http.post("/v1/passkeys/options", keys.form()).json
    site.token(keys, grant_type=PASSKEY_GRANT, credential=json.dumps(key.get(asked)))
    asked = site.http.post_json("/v1/clients/web/passkey-options", {}).json
    site.http.post_json("/v1/clients/web/passkey", {"credential": key.get(asked)})


def an_enrollment(site, keys):
    """A mailed code, and the first code of a new app, where a second factor is required."""
    site.user("dee@example.com", confirmed=True)
    with setting(site, second_factor="required"):
        answer = site.login(keys, "dee@example.com", status=400)
        body = {"mfa_token": answer["mfa_token"]}
        site.http.post_json("/v1/mfa/email", body)
        [code] = MAILED.findall(text_of(site.mails()[-1]))[:1]
        step(site, keys, answer, 400, mfa_method="email", code=code)
        begun = site.http.post_json("/v1/mfa/enroll", body).json
        code = pyotp.TOTP(begun["secret"]).now()
        given = {"enrollment": begun["enrollment"], "code": code}
        pair = step(site, keys, answer, mfa_method="totp", **given).json
        site.refresh(keys, pair["refresh_token"])


def step(site, keys, answer, status=200, **given):
    token = answer["mfa_token"]
    return site.token(keys, status, grant_type=MFA_GRANT, mfa_token=token, **given)
