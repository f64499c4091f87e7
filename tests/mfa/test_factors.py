"""Second steps of clients with the factors that users have: apps, recovery codes, enrollment."""

import pytest
from sqlalchemy import update

from authsite.oauth.models import Client, Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.users.models import User
from tests.factors.steps import Person
from tests.mfa.two_steps import codes_of, families, go_on, rows
from tests.support.site import PASSWORD, WEB, bearer


@pytest.fixture
def site(site_with, frozen):
    made = site_with(**WEB)
    made.first_party("web")
    made.clock = frozen
    return made


@pytest.fixture
def ann(site):
    person = Person(site)
    person.recovery = person.enroll()["recovery_codes"]
    site.clock.advance(60)
    return person


def step(ann, token, status=200, *, method="totp", **form):
    return go_on(ann.site, token, form.pop("code", ""), status, keys=ann.keys, mfa_method=method,
                 **form)  # fmt: skip


def begin(ann, **form):
    return ann.site.login(ann.keys, status=400, **form)


def newest(site):
    return max(families(site), key=lambda each: each.created_at)


def test_the_methods_are_those_of_the_user(ann):
    answer = begin(ann)
    assert (answer["mfa_methods"], answer["mfa_enroll"]) == (["totp", "recovery_code"], False)
    assert "passkey_options" not in answer


@pytest.mark.both_databases
def test_a_code_of_the_app_completes_the_login_once(ann):
    code = ann.code()
    answer = step(ann, begin(ann)["mfa_token"], code=code)
    assert "recovery_codes" not in answer
    assert amr_of(newest(ann.site).facts) == ("pwd", "otp")
    again = step(ann, begin(ann)["mfa_token"], 400, code=code)
    assert codes_of(again) == ["code_used"]


def test_a_recovery_code_completes_the_login_once(ann):
    used = ann.recovery[0]
    step(ann, begin(ann)["mfa_token"], method="recovery_code", code=used)
    answer = step(ann, begin(ann)["mfa_token"], 400, method="recovery_code", code=used)
    assert (answer["error"], codes_of(answer)) == ("invalid_grant", ["code_used"])
    assert "app" not in answer["message"]  # which shows no recovery codes


def test_a_code_comes_with_the_password(ann):
    answer = ann.site.login(ann.keys, otp=ann.code())
    assert amr_of(newest(ann.site).facts) == ("pwd", "otp")
    assert ann.site.http.get("/v1/user", headers=bearer(answer["access_token"]), status=200)
    assert rows(ann.site) == []


def test_a_recovery_code_comes_with_the_password(ann):
    ann.site.login(ann.keys, otp=ann.recovery[1])
    assert amr_of(newest(ann.site).facts) == ("pwd", "recovery")


@pytest.mark.both_databases
def test_a_code_that_comes_twice_is_told_apart_and_the_login_goes_on(ann):
    code = ann.code()
    ann.site.login(ann.keys, otp=code)
    answer = begin(ann, otp=code)
    assert (answer["error"], codes_of(answer)) == ("mfa_required", ["code_used"])
    assert answer["errors"][0]["field"] == "otp"
    ann.site.clock.advance(30)
    step(ann, answer["mfa_token"], code=ann.code())


@pytest.mark.parametrize("otp", ["000000", "12345", "x", "１２３４５６", "0" * 64])
def test_a_wrong_code_with_the_password_counts_for_the_login(ann, otp):
    answer = begin(ann, otp=otp)
    assert codes_of(answer) == ["invalid_code"]
    assert [row.failures for row in rows(ann.site)] == [1]
    step(ann, answer["mfa_token"], code=ann.code())


def test_a_code_with_a_wrong_password_is_not_used_up(ann):
    code = ann.code()
    ann.site.login(ann.keys, password="not this one", otp=code, status=400)
    ann.site.login(ann.keys, otp=code)


def test_the_proxy_takes_a_code_with_the_password(ann):
    login = {"username": "ann@example.com", "password": PASSWORD}
    answer = ann.site.http.post_json("/v1/clients/web/login", login, status=400)
    assert answer.json["mfa_methods"] == ["totp", "recovery_code"]
    ann.site.http.post_json("/v1/clients/web/login", {**login, "otp": ann.code()}, status=200)
    ann.site.http.post_json("/v1/clients/web/refresh", {}, status=200)


def test_a_new_factor_ends_logins_that_wait(ann):
    token = begin(ann)["mfa_token"]
    ann.site.login(ann.keys, otp=ann.code())
    with ann.site.db() as db:
        db.execute(update(User).values(factor_version=User.factor_version + 1))
    ann.site.clock.advance(30)
    assert codes_of(step(ann, token, 400, code=ann.code())) == []


def test_a_reset_ends_logins_that_wait(ann):
    token = begin(ann)["mfa_token"]
    body = {
        "email": ann.email,
        "token": ann.site.reset_token(ann),
        "password": "purple wolf 77 tea",
    }
    ann.site.http.post_json("/v1/password/reset", body, status=200)
    answer = step(ann, token, 400, code=ann.code())
    assert (answer["error"], codes_of(answer)) == ("invalid_grant", [])


def test_what_is_not_to_be_added_is_not_begun(ann):
    token = begin(ann)["mfa_token"]
    for path in ("enroll", "email"):
        answer = post(ann.site, path, token, 400)
        assert answer["error"] == "invalid_request"
        answer = post(ann.site, path, "mt_x", 400)
        assert (answer["error"], codes_of(answer)) == ("invalid_grant", [])


def post(site, path, token, status=200):
    return site.http.post_json(f"/v1/mfa/{path}", {"mfa_token": token}, status=status).json


@pytest.fixture
def required(site_with, frozen):
    """A site under the policy, and a user whose browser is known well enough."""
    made = site_with(second_factor="required", second_factor_from="2031-05-18")
    made.clock = frozen
    person = Person(made, known=False)
    frozen.advance(24 * 3600)
    return person


@pytest.fixture
def enrolling(required, monkeypatch):
    """The same user, who needs no mailed code: it has been proved at this login."""
    from authsite.sign_in.factors import policy

    monkeypatch.setattr(policy, "may_enroll", lambda *_: True)
    return required


@pytest.mark.both_databases
def test_a_login_that_needs_a_factor_adds_it(enrolling):
    ann = enrolling
    answer = begin(ann)
    assert (answer["mfa_methods"], answer["mfa_enroll"]) == ([], True)
    token = answer["mfa_token"]
    begun = post(ann.site, "enroll", token)
    assert begun.keys() == {"secret", "otpauth_uri", "qr_svg", "enrollment"}
    code = ann.code(begun["secret"])
    done = step(ann, token, code=code, enrollment=begun["enrollment"])
    assert len(done["recovery_codes"]) == 8
    assert amr_of(newest(ann.site).facts) == ("pwd", "otp")
    ann.headers = bearer(done["access_token"])
    assert ann.factors()["totp"]
    assert ann.site.refresh(ann.keys, done["refresh_token"])["access_token"]
    # The confirming code is used up, and so is the login.
    assert codes_of(begin(ann, otp=code)) == ["code_used"]
    assert codes_of(step(ann, token, 400, code=code, enrollment=begun["enrollment"])) == []


def test_an_enrollment_ends_the_other_sign_ins(enrolling):
    ann = enrolling
    former = ann.headers
    token = begin(ann)["mfa_token"]
    begun = post(ann.site, "enroll", token)
    step(ann, token, code=ann.code(begun["secret"]), enrollment=begun["enrollment"])
    ann.site.http.get("/v1/user", headers=former, status=401)


def test_wrong_first_codes_and_enrollments(enrolling):
    ann = enrolling
    token, other = begin(ann)["mfa_token"], begin(ann)["mfa_token"]
    begun = post(ann.site, "enroll", token)
    code, enrollment = ann.code(begun["secret"]), begun["enrollment"]
    wrong = step(ann, token, 400, code="000000", enrollment=enrollment)
    assert (wrong["error"], codes_of(wrong)) == ("invalid_grant", ["invalid_code"])
    for sent, text in ((token, ""), (token, "et_x"), (other, enrollment)):
        unfit = step(ann, sent, 400, code=code, enrollment=text)
        assert (unfit["error"], codes_of(unfit)) == ("invalid_grant", ["invalid_token"])
    for method in ("recovery_code", "passkey", "email"):
        answer = step(ann, token, 400, method=method, code=code, credential="{}")
        assert answer["error"] == "invalid_request"
    step(ann, token, code=code, enrollment=enrollment)
    # The other one has ended: the user's factors have changed.
    assert post(ann.site, "enroll", other, 400)["error"] == "invalid_grant"


def test_a_login_of_a_page_is_not_one_of_a_client(ann):
    from tests.support.pages import sign_in

    sign_in(ann.site)
    key = ann.site.http.cookies["authsite-login"]
    for text in (key, f"mt_{key}"):
        assert post(ann.site, "enroll", text, 400)["error"] == "invalid_grant"
        assert step(ann, text, 400, code=ann.code())["error"] == "invalid_grant"


def test_a_client_that_was_disabled_cannot_prepare_a_step(enrolling):
    token = begin(enrolling)["mfa_token"]
    with enrolling.site.db() as db:
        db.execute(update(Client).values(disabled_at=clock.now()))
    assert post(enrolling.site, "enroll", token, 400)["error"] == "invalid_grant"


def test_the_group_of_a_client_is_asked_for_after_the_second_step(ann):
    with ann.site.db() as db:
        db.execute(update(Client).values(require_group="staff"))
        before = len(db.query(Family).all())
    answer = step(ann, begin(ann)["mfa_token"], 400, code=ann.code())
    assert codes_of(answer) == ["group_required"]
    assert len(families(ann.site)) == before
