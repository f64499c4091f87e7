"""Who may add a first factor: not a person who only knows the password."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of, pack
from authsite.sign_in.methods.mail_code.codes import code_of
from authsite.sign_in.methods.mail_code.pages import send_to_session
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.sign_in.pending import PendingLogin
from authsite.users.account import SignedInUser, account_of
from authsite.users.models import User
from tests.factors.steps import Person
from tests.support.acting import acting


def codes_of(answer):
    return [(each["code"], each["field"]) for each in answer["errors"]]


def mailed_code(person):
    """A code is mailed to the user in the present sign-in."""
    services = person.site.app.registry["authsite"]
    with person.site.db() as db:
        newest = select(Family.id).where(Family.user_id == person.id)
        family_id = db.scalars(newest.order_by(Family.created_at.desc())).first()
        account = account_of(db.get(User, person.id))
        send_to_session(acting(db, services), SignedInUser(account, family_id))
        row = db.scalar(select(PendingLogin).where(PendingLogin.session_id == family_id))
        return code_of(services.keys, row.id)


def change_sign_in(person, **values):
    with person.site.db() as db:
        db.execute(update(Family).where(Family.user_id == person.id).values(**values))


@pytest.fixture
def stranger(steps):
    """A person in an unknown browser, who knows Ann's password."""
    return Person(steps(), known=False)


def test_the_password_alone_is_not_enough(stranger):
    assert codes_of(stranger.begin(422)) == [("required", "mail_code")]
    assert codes_of(stranger.begin(422, mail_code="")) == [("required", "mail_code")]
    assert codes_of(stranger.begin(422, mail_code="BBBB-BBBB")) == [("invalid_code", "mail_code")]
    assert stranger.factors()["totp"] is None


def test_both_that_is_missing_is_said_at_once(stranger):
    answer = stranger.begin(422, current_password=None)
    assert codes_of(answer) == [("required", "current_password"), ("required", "mail_code")]


def test_with_the_mailed_code_it_is(stranger):
    code = mailed_code(stranger)
    stranger.confirm(stranger.begin(mail_code=code))
    [family] = stranger.stored(Family)
    assert amr_of(family.facts) == ("pwd", "email", "otp")
    assert stranger.factors()["second_factor"] is True


def test_a_code_serves_once(stranger):
    code = mailed_code(stranger)
    stranger.begin(mail_code=code)
    assert codes_of(stranger.begin(422, mail_code=code)) == [("invalid_code", "mail_code")]


def test_a_refused_attempt_does_not_use_the_code_up(stranger):
    code = mailed_code(stranger)
    answer = stranger.begin(422, mail_code=code, current_password="wrong")
    assert codes_of(answer) == [("invalid_password", "current_password")]
    stranger.begin(mail_code=code)


def test_a_code_of_another_sign_in_does_not_count(stranger):
    code = mailed_code(stranger)
    stranger.login()
    stranger.begin(422, mail_code=code)


@pytest.mark.parametrize(("days", "enough"), [(7.01, True), (6.9, False)])
def test_a_browser_that_is_known_for_a_week_needs_no_code(stranger, days, enough):
    stranger.be_known(days)
    stranger.begin(200 if enough else 422)


def test_the_week_begins_with_the_confirmation_of_the_present_address(stranger):
    stranger.be_known(30)
    with stranger.site.db() as db:
        db.execute(update(User).values(email_verified_at=clock.now() - timedelta(days=8)))
    stranger.begin(422)


@pytest.mark.parametrize(("minutes", "enough"), [(9, True), (11, False)])
def test_a_sign_in_by_mail_of_just_now_needs_no_code(stranger, minutes, enough):
    at = clock.now() - timedelta(minutes=minutes)
    change_sign_in(stranger, facts=pack(("email",)), auth_at=at)
    stranger.begin(200 if enough else 422)


def test_administrators_always_need_the_code(stranger):
    stranger.be_known(30)
    with stranger.site.db() as db:
        db.execute(update(User).values(labels="authsite:support=member"))
    assert codes_of(stranger.begin(422)) == [("required", "mail_code")]
    code = mailed_code(stranger)
    stranger.begin(mail_code=code)


def test_an_address_that_is_not_confirmed_adds_nothing(steps):
    ann = Person(steps(), known=False, confirmed=False)
    answer = ann.begin(403, mail_code="BBBB-BBBB")
    assert [each["code"] for each in answer["errors"]] == ["email_not_confirmed"]


def test_a_second_factor_needs_no_code(stranger):
    code = mailed_code(stranger)
    stranger.confirm(stranger.begin(mail_code=code))
    stranger.begin()


@pytest.mark.parametrize("password", [True, False])
def test_the_limits_count_before_the_code_is_used_up(steps, password):
    """In one database file, where only one connection can write."""
    stored = {"limits": "on", "limits_storage": "database"}
    ann = Person(steps(**stored, **{"limits.factor_changes": "1/hour"}), known=False)
    if not password:
        with ann.site.db() as db:
            db.execute(update(User).values(password_hash=None))
    code = mailed_code(ann)
    ann.begin(mail_code=code)
    code = mailed_code(ann)
    ann.begin(429, mail_code=code)


def test_without_a_password_the_mailed_code_is_the_proof(stranger):
    with stranger.site.db() as db:
        db.execute(update(User).values(password_hash=None))
    change_sign_in(stranger, facts=pack(("idp",)))
    assert "max_age" in stranger.begin_refused(401)
    code = mailed_code(stranger)
    stranger.confirm(stranger.begin(mail_code=code, current_password="not mine"))
    [family] = stranger.stored(Family)
    assert amr_of(family.facts) == ("idp", "email", "otp")


def test_wrong_codes_end_it_and_the_second_try_needs_another_mail(stranger):
    code = mailed_code(stranger)
    for _ in range(5):
        stranger.begin(422, mail_code="BBBB-BBBB")
    stranger.begin(422, mail_code=code)
    assert stranger.factors()["totp"] is None


class TestAtASignIn:
    """`second-factor = required`: the login stays pending until a factor is added."""

    @pytest.fixture
    def required(self, steps, required_now):
        ann = Person(steps(second_factor="required", second_factor_from="2099-01-01"))
        ann.other = ann.headers
        required_now(ann.site)
        return ann

    def pending_by_mail(self, ann):
        """A login whose mailed code was right."""
        asked = ann.password()
        assert (asked["methods"], asked["enroll"]) == (["email"], True)
        with ann.site.db() as db:
            db.execute(update(PendingLogin).values(amr="pwd email"))
        return asked["key"]

    def begin(self, ann, key, status=200):
        return ann.site.http.post_json("/begin", {"key": key}, status=status).json

    def test_the_code_of_the_new_app_completes_it(self, required):
        key = self.pending_by_mail(required)
        begun = self.begin(required, key)
        given = {"key": key, "enrollment": begun["enrollment"]}
        assert required.second("000000", **given) == {"wrong": "invalid_code"}
        done = required.second(required.code(begun["secret"]), **given)
        assert done["amr"] == ["pwd", "email", "otp"]
        assert len(done["codes"]) == 8
        assert done["epoch"] == required.row().epoch == 1
        required.site.http.get("/v1/user", headers=required.other, status=401)
        assert required.password()["methods"] == ["totp", "recovery_code"]
        with required.site.db() as db:
            added = select(AuditEvent.details).where(AuditEvent.event == "factor.added")
            assert list(db.scalar(added)) == ["kind", "factor"]

    def test_before_the_mailed_code_nothing_begins(self, required):
        key = required.password()["key"]
        self.begin(required, key, 410)
        required.second("000000", key=key, enrollment="et_x", status=410)

    def test_an_enrollment_of_another_login_does_not_serve(self, required):
        first, second = self.pending_by_mail(required), self.pending_by_mail(required)
        begun = self.begin(required, first)
        code = required.code(begun["secret"])
        given = {"method": "totp", "code": code, "enrollment": begun["enrollment"]}
        required.site.http.post_json("/second", {"key": second, **given}, status=422)
        assert required.stored(TotpFactor) == []
        required.second(code, key=first, enrollment=begun["enrollment"])

    def test_of_two_logins_that_enroll_one_completes(self, required):
        keys = [self.pending_by_mail(required) for _ in range(2)]
        begun = [self.begin(required, key) for key in keys]
        codes = [required.code(each["secret"]) for each in begun]
        more = [
            {"key": key, "enrollment": each["enrollment"]}
            for key, each in zip(keys, begun, strict=True)
        ]
        assert "codes" in required.second(codes[0], **more[0])
        required.second(codes[1], **more[1], status=410)
