"""The states of second factors, for the gallery: set up, asked for, and removed again."""

import re
from datetime import timedelta

import pyotp

from authsite.platform.runtime import clock
from tests.support.mails import link_in, text_of
from tests.support.virtual_keys import VirtualKeys
from tests.system.browser.gallery_console import console
from tests.system.browser.people import EMAIL, PASSWORD

CODE = re.compile(r"^\s*([B-Z]{4}-[B-Z]{4})$", re.MULTILINE)


def _submit(ann, action, index=0):
    """Press the main button of the form that is sent to ``action``."""
    form = ann.page.locator(f"form[action$='{action}']").nth(index)
    form.locator("button.primary, button.danger").first.click()


def _code_in(mail):
    found = CODE.search(text_of(mail))
    return found and found[1]


def _mail_with_code(ann):
    while True:
        for mail in ann.mail():
            if _code_in(mail):
                return mail


def _mailed_code(ann):
    return _code_in(_mail_with_code(ann))


def second_factors(ann, email):
    """Ann adds an app and a passkey, signs in with them, and removes them; then a mailed code."""
    ann.go("/account/factors")
    yield "factors-choice"
    yield from _set_up(ann, app := _App())
    keys = VirtualKeys(ann.page)
    yield from _add_passkey(ann, keys)
    yield from _sign_in(ann, email, app)
    yield from _verify(ann, email, app)
    yield from console(ann, email)
    yield from _remove(ann)
    yield from _mailed(ann, email)
    ann.page.context.clear_cookies()
    ann.sign_in(PASSWORD, email)
    ann.at("/account")


class _App:
    """The authenticator app, and the recovery codes."""

    secret, codes = "", ()

    def code(self, steps=0):
        return pyotp.TOTP(self.secret).at(clock.now() + timedelta(seconds=30 * steps))


def _set_up(ann, app):
    ann.go("/account/factors/totp")
    yield "factors-totp"
    if ann.page.locator("[name=mail_code]").count():
        ann.mail()
        ann.page.locator("button[form=mail-code]").click()
        ann.page.locator(".notice").wait_for()
        yield "factors-totp-mailed"
        ann.fill(mail_code=_mailed_code(ann))
    ann.fill(current_password=PASSWORD)
    _submit(ann, "/account/factors/totp")
    ann.page.locator(".qr").wait_for()
    ann.page.locator(".steps summary").click()
    yield "factors-app"
    app.secret = ann.page.locator(".key").inner_text().replace(" ", "")
    ann.fill(code="12345")
    _submit(ann, "/totp/confirm")
    ann.page.locator("[aria-invalid=true]").wait_for()
    yield "factors-app-mistake"
    ann.fill(code=app.code())
    _submit(ann, "/totp/confirm")
    ann.page.locator(".codes").wait_for()
    yield "factors-codes"
    app.codes = ann.page.locator(".codes li").all_inner_texts()
    ann.page.locator("[name=saved]").check()
    _submit(ann, "/login/factor/done")
    ann.at("/account/security")
    yield "factors-security"


def _prove(form):
    """The password, where the page asks for it: not soon after a sign-in with a second factor."""
    field = form.locator("[name=current_password]:visible")
    if field.count():
        field.first.fill(PASSWORD)


def _add_passkey(ann, keys):
    ann.go("/account/factors/passkeys")
    _prove(ann.page)
    _submit(ann, "/account/factors/passkeys")
    ann.page.locator("form[data-passkey]").wait_for()
    yield "factors-passkey"
    ann.fill(name="Ann’s rather old laptop under the desk")
    keys.answer(present=True)
    _submit(ann, "/account/factors/passkeys/add")
    ann.at("/account/security")
    keys.answer(present=False)
    yield "factors-passkeys"
    ann.page.locator("details:has(form[action$='/name']) summary").click()
    yield "factors-passkey-rename"


def _sign_in(ann, email, app):
    ann.page.context.clear_cookies()
    ann.sign_in(PASSWORD, email)
    ann.at("/login/factor")
    for method in ("passkey", "recovery_code", "totp"):
        ann.go(f"/login/factor?method={method}")
        ann.page.locator(f"input[name=method][value={method}]").wait_for(state="attached")
        yield f"factor-{method}"
    ann.fill(code="12345")
    _submit(ann, "/login/factor")
    ann.page.locator("[aria-invalid=true]").wait_for()
    yield "factor-mistake"
    ann.page.locator("[name=remember_browser]").check()
    ann.fill(code=app.code(1))
    _submit(ann, "/login/factor")
    ann.at("/account")
    ann.go("/account/security")
    yield "factors-remembered"


def _verify(ann, email, app):
    """In the remembered browser, from a sign-in without a second factor."""
    ann.page.context.clear_cookies(name="authsite")
    ann.sign_in(PASSWORD, email)
    ann.at("/account")
    ann.go("/account/security")
    ann.page.locator("summary[aria-controls], .methods summary").first.click()
    yield "factors-confirm-first"
    query = "next=/account/security&acr_values=aal2"
    for method in ("passkey", "totp", "recovery_code"):
        ann.go(f"/login/verify?{query}&method={method}")
        ann.page.locator(f"input[name=method][value={method}]").wait_for(state="attached")
        yield f"verify-{method}"
    ann.go(f"/login/verify?{query}&method=totp&max_age=0")
    yield "verify-everything"
    ann.go(f"/login/verify?{query}&method=recovery_code")
    ann.fill(code=app.codes[0])
    _submit(ann, "/login/verify")
    ann.at("/account/security")


def _remove(ann):
    for action, state in (("/totp/remove", "factors-remove"), ("/remove", "factors-remove-last")):
        remove = ann.page.locator(f".methods details:has(form[action$='{action}'])")
        remove.locator("summary").click()
        yield state
        _prove(remove)
        remove.locator("button.danger").click()
        ann.page.locator(".notice").wait_for()
    yield "factors-removed"


def _mailed(ann, email):
    """A sign-in by a mailed code, and the pages of the link in that mail."""
    ann.page.context.clear_cookies()
    ann.mail()
    ann.go("/login")
    ann.fill(username=email)
    ann.page.locator("button[formaction$='/login/email']").click()
    ann.at("/login/factor")
    yield "factor-email"
    ann.page.goto(link_in(_mail_with_code(ann)))
    yield "code-here"
    ann.page.context.clear_cookies()
    ann.page.reload()
    yield "code-elsewhere"
    ann.go(f"/login/code/{'x' * 64}")
    yield "code-invalid"
    ann.go("/login/factor")
    yield "factor-ended"


def required(ann):
    """Where the policy requires a second factor: Bo adds one to sign in."""
    ann.go("/register")
    ann.fill(email=EMAIL, password=PASSWORD)
    ann.press("Create account")
    ann.fill(code=_mailed_code(ann))
    _submit(ann, "/register/code")
    ann.page.locator(".qr").wait_for()
    yield "enroll"
    app = _App()
    app.secret = ann.page.locator(".key").text_content().replace(" ", "")
    ann.fill(code=app.code())
    _submit(ann, "/login/factor")
    ann.page.locator(".codes").wait_for()
    yield "enroll-codes"
