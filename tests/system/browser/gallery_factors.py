"""The states of second factors, for the gallery: set up, asked for, and removed again."""

import re
from datetime import timedelta

import pyotp

from authsite.platform.runtime import clock
from tests.support.mails import text_of
from tests.system.browser.people import PASSWORD

CODE = re.compile(r"^\s*([B-Z]{4}-[B-Z]{4})$", re.MULTILINE)


def _submit(ann, action, index=0):
    """Press the main button of the form that is sent to ``action``."""
    form = ann.page.locator(f"form[action$='{action}']").nth(index)
    form.locator("button.primary, button.danger").first.click()


def _mailed_code(ann):
    while True:
        for mail in ann.mail():
            if found := CODE.search(text_of(mail)):
                return found[1]


def second_factors(ann, email):
    """Ann's first authenticator app; the next sign-in; a passkey's page; without a factor again."""
    ann.go("/account/factors")
    yield "factors-choice"
    ann.go("/account/factors/totp")
    yield "factors-totp"
    if ann.page.locator("[name=mail_code]").count():
        ann.mail()
        ann.page.locator("button[formaction$='/totp/mail']").click()
        ann.page.locator(".notice").wait_for()
        yield "factors-totp-mailed"
        ann.fill(mail_code=_mailed_code(ann))
    ann.fill(current_password=PASSWORD)
    _submit(ann, "/account/factors/totp")
    ann.page.locator(".qr").wait_for()
    ann.page.locator(".steps summary").click()
    yield "factors-app"
    app = pyotp.TOTP(ann.page.locator(".key").inner_text().replace(" ", ""))
    ann.fill(code="12345")
    _submit(ann, "/totp/confirm")
    ann.page.locator("[aria-invalid=true]").wait_for()
    yield "factors-app-mistake"
    ann.fill(code=app.at(clock.now()))
    _submit(ann, "/totp/confirm")
    ann.page.locator(".codes").wait_for()
    yield "factors-codes"
    ann.page.locator("[name=saved]").check()
    _submit(ann, "/login/factor/done")
    ann.at("/account/security")
    yield "factors-security"
    ann.go("/account/factors/passkeys")
    ann.fill(current_password=PASSWORD)
    _submit(ann, "/account/factors/passkeys")
    ann.page.locator("form[data-passkey]").wait_for()
    yield "factors-passkey"
    ann.page.context.clear_cookies()
    ann.sign_in(PASSWORD, email)
    ann.at("/login/factor")
    yield "factor"
    ann.fill(code="12345")
    _submit(ann, "/login/factor")
    ann.page.locator("[aria-invalid=true]").wait_for()
    yield "factor-mistake"
    ann.page.locator(".ways a").first.click()
    ann.page.locator("input[name=method][value=recovery_code]").wait_for(state="attached")
    yield "factor-recovery"
    ann.go("/login/factor")
    ann.fill(code=app.at(clock.now() + timedelta(seconds=30)))
    _submit(ann, "/login/factor")
    ann.at("/account")
    ann.go("/account/security")
    remove = ann.page.locator("details:has(form[action$='/totp/remove'])")
    remove.locator("summary").click()
    yield "factors-remove"
    remove.locator("[name=current_password]").fill(PASSWORD)
    _submit(ann, "/totp/remove")
    ann.page.locator(".notice").wait_for()
    yield "factors-removed"
