"""What is handed out or mailed as a secret is in no table, no audit row, no mail row and no log."""

import logging
import re
from base64 import b32decode

from tests.factor_pages.people import App
from tests.oauth.test_tokens_secrecy import forms, own_site, stored_bytes  # noqa: F401
from tests.support.mails import text_of
from tests.support.pages import sign_in, submit

from .steps import Person

MAILED = re.compile(r"\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b")


def handed_out(site):
    """A user adds an app and signs in with it in several ways; all secrets on the way."""
    ann, found = Person(site, known=False), set()
    site.http.post("/v1/user/mail-code", headers=ann.headers)
    [code] = MAILED.findall(text_of(site.mails()[-1]))[:1]
    begun = ann.begin(mail_code=code)
    found |= {code, begun["secret"], begun["enrollment"], begun["otpauth_uri"]}
    ann.begin(422, mail_code=code, current_password="wrong")
    ann.confirm(begun, 422, code=App(begun["secret"]).wrong())
    codes = ann.confirm(begun)["recovery_codes"]
    found |= {*codes, *(each.replace("-", "") for each in codes)}
    found.add(str(b32decode(begun["secret"])))
    answer = site.login(ann.keys, status=400)
    found.add(answer["mfa_token"].removeprefix("mt_"))
    site.token(
        ann.keys, grant_type="urn:authsite:params:oauth:grant-type:mfa",
        mfa_token=answer["mfa_token"], mfa_method="recovery_code", code=codes[0],
    )  # fmt: skip
    site.new_browser()
    sign_in(site)
    found.add(site.http.cookies["authsite-login"])
    submit(site, "/login/factor", method="totp", code="000000")
    given = {"method": "recovery_code", "code": codes[1], "remember_browser": "1"}
    assert submit(site, "/login/factor", **given).status_int == 303
    found.add(site.http.cookies["authsite-factor"])
    submit(site, "/account/factors/codes", page="/account/security", current_password="no")
    site.mails()
    return found


def test_no_secret_of_a_factor_is_stored_or_logged(own_site, caplog, capfd):  # noqa: F811
    with caplog.at_level(logging.DEBUG):
        secrets = handed_out(own_site)
    assert len(secrets) > 20
    stored, (out, err) = stored_bytes(own_site), capfd.readouterr()
    assert b"factor.added" in stored  # we are looking in the right place
    logged = "\n".join((caplog.text, out, err)).encode()
    for secret in secrets:
        for form in forms(secret):
            assert form not in stored, f"{secret} is in the database"
            assert form not in logged, f"{secret} is in the logs"
