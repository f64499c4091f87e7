"""The last factor, the last way to sign in, and passkeys as second factors."""

import uuid

import pytest
from sqlalchemy import delete, select, update

from authsite.oauth.models import Family
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.providers.linking.service import list_removable
from authsite.sign_in.credentials import pack
from authsite.sign_in.factors import service
from authsite.sign_in.factors.errors import LastFactor, LastWayIn
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.users.account import account_of
from authsite.users.errors import SignInEnded
from authsite.users.identities import Identity
from authsite.users.models import User
from tests.factors.steps import Person, details
from tests.support.acting import acting
from tests.support.identities import linked
from tests.support.together import together


def codes_of(answer):
    return [each["code"] for each in answer["errors"]]


def passkey_of(person, name="iPhone", *, synced=True, rp_id="localhost", verified=True):
    """Insert a passkey, and do what follows from it."""
    site, id = person.site, uuid.uuid4()
    person.prove(("pwd", "pop"))
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        db.add(
            Passkey(
                id=id, user_id=person.id, credential_id=id.hex, public_key=b"key",
                user_handle="h", rp_id=rp_id, sign_count=0, aaguid=uuid.UUID(int=0),
                transports="internal", backup_eligible=synced, backed_up=synced, name=name,
                uv_initialized=verified, created_at=clock.now(),
            )
        )  # fmt: skip
        db.flush()
        account = account_of(db.get(User, person.id))
        return id, service.added(ctx, account, "passkey", id, None)


def remove_passkey(person, id, account=None):
    site = person.site
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        account = account or account_of(db.get(User, person.id))
        service.lock(ctx, account)
        db.execute(delete(Passkey).where(Passkey.id == id))
        service.removed(ctx, account, "passkey", id, None)


def without_password(person):
    with person.site.db() as db:
        db.execute(update(User).where(User.id == person.id).values(password_hash=None))


def test_a_passkey_is_a_factor_but_not_asked_for_after_the_password(ann):
    id, added = passkey_of(ann)
    assert added.first
    assert len(added.recovery_codes) == 8
    found = ann.factors()
    assert found["second_factor"] is False
    [shown] = found["passkeys"]
    assert shown.pop("created_at")
    assert shown == {"id": str(id), "name": "iPhone", "last_used_at": None, "synced": True}
    row = ann.row()
    assert row.factors_since is not None
    assert row.second_factor_at is None
    assert ann.password() == {"amr": ["pwd"]}


def test_the_second_factor_makes_no_new_codes(ann):
    ann.enroll()
    since = ann.row().factors_since
    _, added = passkey_of(ann)
    assert added == (None, False)
    assert ann.row().factors_since == since
    assert len(ann.stored(RecoveryCode)) == 8


def test_a_bound_passkey_is_not_synced(ann):
    passkey_of(ann, synced=False)
    assert ann.factors()["passkeys"][0]["synced"] is False


@pytest.mark.parametrize("wanted", [True, False])
def test_the_switch_needs_a_factor(ann, wanted):
    answer = ann.call("put", "second-factor", 409, after_password=wanted)
    assert codes_of(answer) == ["factor_required"]


def test_the_switch_asks_for_the_passkey(ann):
    passkey_of(ann)
    version = ann.row().factor_version
    found = ann.call("put", "second-factor", after_password=True)
    assert (found["second_factor"], found["after_password"]) == (True, True)
    assert found == ann.factors()
    since = ann.row().second_factor_at
    assert since is not None
    assert ann.row().factor_version == version + 1
    ann.call("put", "second-factor", after_password=True)
    assert ann.row().second_factor_at == since
    found = ann.call("put", "second-factor", after_password=False)
    assert (found["second_factor"], found["after_password"]) == (False, False)
    assert ann.row().second_factor_at is None


def test_the_switch_is_recorded_and_told_by_mail(ann):
    passkey_of(ann)
    with ann.site.db() as db:
        db.execute(delete(OutboxMessage))
    for wanted in (True, True, False):
        ann.call("put", "second-factor", after_password=wanted)
    with ann.site.db() as db:
        kinds = db.scalars(select(OutboxMessage.kind).order_by(OutboxMessage.created_at)).all()
    assert kinds == ["passkey_asked", "passkey_not_asked"]
    session = str(ann.stored(Family)[0].id)
    for event in ("factor.added", "factor.removed"):
        assert details(ann, event)[-1] == {"kind": "after_password", "session": session}


def test_the_switch_takes_a_word_and_a_proof(ann):
    passkey_of(ann)
    ann.call("put", "second-factor", 422)
    ann.call("put", "second-factor", 422, after_password="yes")
    ann.call("put", "second-factor", 422, after_password=True, current_password="wrong")
    assert ann.factors()["after_password"] is False


def test_the_switch_does_not_turn_an_app_off(ann):
    ann.enroll()
    ann.call("put", "second-factor", after_password=True)
    assert ann.call("put", "second-factor", after_password=False)["second_factor"] is True


def test_without_the_app_the_switch_decides(ann):
    ann.enroll()
    passkey_of(ann)
    ann.call("delete", "totp", 204)
    row = ann.row()
    assert row.second_factor_at is None
    assert row.factors_since is not None
    assert len(ann.stored(RecoveryCode)) == 8  # a passkey is left


def test_with_the_switch_the_passkey_stays_a_second_factor(ann):
    ann.enroll()
    since = ann.row().second_factor_at
    passkey_of(ann)
    ann.call("put", "second-factor", after_password=True)
    ann.call("delete", "totp", 204)
    assert ann.row().second_factor_at == since


def test_with_the_last_factor_everything_ends(ann):
    id, _ = passkey_of(ann)
    ann.call("put", "second-factor", after_password=True)
    remove_passkey(ann, id)
    row = ann.row()
    assert (row.second_factor_at, row.factors_since) == (None, None)
    assert row.passkey_after_password is False
    assert ann.stored(RecoveryCode) == []


def test_the_last_factor_stays_where_one_is_required(steps, required_now):
    ann = Person(steps(second_factor="required", second_factor_from="2099-01-01"))
    ann.enroll()
    required_now(ann.site)
    id, _ = passkey_of(ann)
    remove_passkey(ann, id)
    answer = ann.call("delete", "totp", 409)
    assert codes_of(answer) == ["factor_required"]
    assert ann.factors()["totp"] is not None
    assert len(ann.stored(RecoveryCode)) == 8
    ann.enroll()  # it can be replaced
    passkey_of(ann)
    ann.call("delete", "totp", 204)


def test_before_the_day_of_the_policy_the_last_one_can_go(steps):
    ann = Person(steps(second_factor="required", second_factor_from="2099-01-01"))
    ann.enroll()
    ann.call("delete", "totp", 204)


def test_the_last_way_to_sign_in_stays(ann):
    first, _ = passkey_of(ann, "one")
    second, _ = passkey_of(ann, "two")
    without_password(ann)
    remove_passkey(ann, first)
    with pytest.raises(LastWayIn):
        remove_passkey(ann, second)
    assert len(ann.factors()["passkeys"]) == 1


def test_a_passkey_of_a_former_domain_is_no_way_to_sign_in(ann):
    id, _ = passkey_of(ann)
    passkey_of(ann, rp_id="old.example")
    without_password(ann)
    with pytest.raises(LastWayIn):
        remove_passkey(ann, id)


@pytest.mark.parametrize(("verified", "is_enough"), [(True, True), (False, False), (None, False)])
def test_a_passkey_that_signs_in_alone_stands_for_the_provider(ann, verified, is_enough):
    """One that has never verified its user does not; None: the user has no passkey."""
    if verified is not None:
        passkey_of(ann, verified=verified)
    with ann.site.db() as db:
        id = linked(db, ann.id).id
        db.execute(update(Family).values(facts=pack(("idp", "pop")), auth_at=clock.now()))
        db.execute(update(User).values(password_hash=None))
        user = db.get(User, ann.id)
        ctx = acting(db, ann.site.app.registry["authsite"])
        assert list_removable(ctx, user.id) == [(db.get(Identity, id), is_enough)]


def test_an_app_is_no_way_to_sign_in(ann):
    ann.enroll()
    id, _ = passkey_of(ann)
    without_password(ann)
    with pytest.raises(LastWayIn):
        remove_passkey(ann, id)


@pytest.mark.both_databases
def test_of_the_last_two_factors_one_stays_if_both_go_at_once(steps, required_now):
    ann = Person(steps(second_factor="required", second_factor_from="2099-01-01"))
    ann.enroll()
    id, _ = passkey_of(ann)
    required_now(ann.site)

    def remove_key():
        try:
            remove_passkey(ann, id)
        except LastFactor:
            return 409
        return 204

    def remove_app():
        body = {"current_password": "correct horse battery"}
        answer = ann.site.http.delete_json("/v1/user/totp", body, headers=ann.headers, status="*")
        return answer.status_int

    assert sorted(together(remove_key, remove_app)) == [204, 409]
    assert len(ann.stored(Passkey)) + len(ann.stored(TotpFactor)) == 1


@pytest.mark.both_databases
@pytest.mark.parametrize("switch", [False, True])
def test_an_app_that_comes_while_the_passkey_goes_is_asked_for(steps, switch):
    ann = Person(steps())
    id, _ = passkey_of(ann)
    begun = ann.begin()
    if switch:
        ann.call("put", "second-factor", after_password=True)
        begun = ann.begin()

    def remove_key():
        remove_passkey(ann, id)
        return 204

    def add_app():
        body = {"enrollment": begun["enrollment"], "code": ann.code(begun["secret"])}
        path = "/v1/user/totp/confirm"
        return ann.site.http.post_json(path, body, headers=ann.headers, status="*").status_int

    results = together(remove_key, add_app)
    assert results in ([204, 200], [204, 422])  # 422: the factors have changed since it began
    apps, user = ann.stored(TotpFactor), ann.row()
    assert len(apps) == (results[1] == 200)
    assert ann.stored(Passkey) == []
    assert (user.second_factor_at is not None) == bool(apps)
    assert (user.factors_since is not None) == bool(apps)
    assert not user.passkey_after_password or apps


def test_a_user_who_has_changed_since_changes_nothing(ann):
    id, _ = passkey_of(ann)
    account = account_of(ann.row())
    with ann.site.db() as db:
        db.execute(update(User).values(epoch=User.epoch + 1))
    with pytest.raises(SignInEnded):
        remove_passkey(ann, id, account)
