"""A user who is erased while one of their steps is under way: the step ends, without an error."""

import json
import threading
from contextlib import contextmanager, suppress
from itertools import count

import psycopg
import pytest
from sqlalchemy import delete, event

from authsite.oauth.models import Client
from tests.factor_pages.people import add_app
from tests.passkeys import passkey_users
from tests.support.pages import csrf_of
from tests.support.site import PASSWORD, WEB, bearer
from tests.support.statements import noted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("backend", ["postgresql"], indirect=True),
]
NUMBERS = count()
DELETE = {
    "users": "DELETE FROM users WHERE id = %s",
    "clients": "DELETE FROM clients WHERE id = %s",
}
PROVED = {"max_age": "0", "current_password": PASSWORD}


@contextmanager
def deleted(site, table, id, place):
    """Before statement number ``place`` the row is deleted, unless the request has locked it.

    The list has the statements of this thread, and its commits.
    """
    url = site.database.transactional.url.set(drivername="postgresql")
    seen, thread = [], threading.get_ident()
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as other:
        other.execute("SET lock_timeout = '50ms'")

        def note(statement, *_):
            if threading.get_ident() != thread:
                return
            seen.append(statement)
            if len(seen) == place:
                with suppress(psycopg.errors.LockNotAvailable):
                    other.execute(DELETE[table], [id])

        event.listen(site.database.transactional, "commit", note)
        try:
            with noted(site.database, note):
                yield seen
        finally:
            event.remove(site.database.transactional, "commit", note)


class Person:
    """A new user in a new browser."""

    def __init__(self, site):
        site.new_browser()
        self.http, self.site = site.http, site
        self.user = site.user(f"ann{next(NUMBERS)}@example.com", confirmed=True)
        self.login = {"username": self.user.email, "password": PASSWORD}

    def form(self, path, page=None, **fields):
        """What sends a form of ``page``."""
        token = csrf_of(self.http.get(page or path, status="*"))
        form = {"csrf_token": token, **fields}
        return lambda: self.http.post(path, form, status="*", expect_errors=True)

    def call(self, path, **body):
        """What calls the API, with the token if there is one."""
        headers = getattr(self, "headers", {})
        return lambda: self.http.post_json(
            path, body, headers=headers, status="*", expect_errors=True
        )

    def page(self, path):
        return lambda: self.http.get(path, status="*", expect_errors=True)

    def with_app(self):
        self.phone, self.codes = add_app(self.site, self.user)

    def begin(self):
        """The first step of a sign-in in the browser."""
        self.form("/login", **self.login)()

    def sign_in(self):
        """Both steps."""
        self.with_app()
        self.begin()
        self.form("/login/factor", method="totp", code=self.phone.code())()

    def token(self):
        self.headers = bearer(
            self.call("/v1/clients/web/login", **self.login)().json["access_token"]
        )


def a_password(ann):
    ann.with_app()
    return ann.form("/login", **ann.login)


def a_request_for_a_code(ann):
    return ann.form("/login/email", "/login", username=ann.user.email)


def a_code_again(ann):
    ann.form("/login/email", "/login", username=ann.user.email)()
    return ann.form("/login/factor/mail", "/login/factor")


def a_code_of_an_app(ann):
    ann.with_app()
    ann.begin()
    return ann.form("/login/factor", method="totp", code=ann.phone.code(), remember_browser="1")


def a_wrong_code(ann):
    ann.with_app()
    ann.begin()
    wrong = ann.form("/login/factor", method="totp", code=ann.phone.wrong())
    wrong(), wrong()
    return wrong


def a_recovery_code(ann):
    ann.with_app()
    ann.begin()
    return ann.form("/login/factor", method="recovery_code", code=ann.codes[0])


def a_passkey(ann):
    key = passkey_users.register(ann.site, ann.user)
    used = key.get(passkey_users.sign_in_options(ann.site))
    return ann.form("/login/passkey", "/login", credential=json.dumps(used))


def the_page_of_the_second_step(ann):
    ann.with_app()
    ann.begin()
    return ann.page("/login/factor")


def a_login_of_an_application(ann):
    ann.with_app()
    return ann.call("/v1/clients/web/login", **ann.login)


def a_login_with_both(ann):
    ann.with_app()
    return ann.call("/v1/clients/web/login", **ann.login, otp=ann.phone.code())


def the_second_step_of_an_application(ann):
    ann.with_app()
    token = ann.call("/v1/clients/web/login", **ann.login)().json["mfa_token"]
    code = ann.phone.code()
    return ann.call("/v1/clients/web/mfa", mfa_token=token, mfa_method="totp", code=code)


def a_call_for_a_code(ann):
    ann.token()
    return ann.call("/v1/user/mail-code")


def a_new_app(ann):
    ann.token()
    return ann.call("/v1/user/totp", current_password=PASSWORD)


def a_form_for_a_code(ann):
    ann.begin()
    return ann.form("/account/factors/totp/mail", "/account/factors/totp")


def a_form_for_a_code_before_a_passkey(ann):
    ann.begin()
    return ann.form("/account/factors/passkeys/mail", "/account/factors/passkeys")


def a_form_for_a_code_at_a_step_up(ann):
    ann.begin()
    return ann.form("/login/verify/mail", "/login/verify?max_age=0", max_age="0")


def a_step_up(ann):
    ann.sign_in()
    given = {**PROVED, "method": "totp", "code": ann.phone.code()}
    return ann.form("/login/verify", "/login/verify?max_age=0", **given)


def new_recovery_codes(ann):
    ann.sign_in()
    page = "/account/security"
    return ann.form("/account/factors/codes", page, current_password=PASSWORD)


def the_end_of_an_app(ann):
    ann.sign_in()
    page = "/account/security"
    return ann.form("/account/factors/totp/remove", page, current_password=PASSWORD)


def the_page_of_factors(ann):
    ann.sign_in()
    return ann.page("/account/security")


STEPS = (
    a_password, a_request_for_a_code, a_code_again, a_code_of_an_app, a_wrong_code,
    a_recovery_code, a_passkey, the_page_of_the_second_step, a_login_of_an_application,
    a_login_with_both, the_second_step_of_an_application, a_call_for_a_code, a_new_app,
    a_form_for_a_code, a_form_for_a_code_before_a_passkey, a_form_for_a_code_at_a_step_up,
    a_step_up, new_recovery_codes, the_end_of_an_app, the_page_of_factors,
)  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_user_who_is_erased_meanwhile_gets_no_error_of_the_server(site_with, step):
    site = site_with(**WEB, email_sign_in="on")
    site.first_party("web")
    faults = []
    for place in count(1):
        ann = Person(site)
        send = step(ann)
        with deleted(site, "users", ann.user.id, place) as statements:
            answer = send()
        if answer.status_int >= 500:
            faults.append(f"{answer.status} before {statements[place - 1]}")
        if len(statements) < place:
            break
    assert place > 1
    assert not faults, "\n".join(faults)


def test_an_application_that_is_removed_meanwhile_gets_no_error_of_the_server(site_with):
    site = site_with(**WEB)
    ann = Person(site)
    ann.with_app()
    for place in count(1):
        client = site.first_party("web")
        with deleted(site, "clients", client.client_id, place) as statements:
            answer = ann.call("/v1/clients/web/login", **ann.login)()
        assert answer.status_int < 500, statements[-1]
        if len(statements) < place:
            break
        with site.db() as db:
            db.execute(delete(Client))
