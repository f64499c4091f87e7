"""A login that needs a second proof: a row that opens nothing, and ends in many ways."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.sign_in import gate, pending
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.method import Target
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users import service as users
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.pages import sign_in, submit
from tests.support.purging import purged
from tests.support.site import PASSWORD

from .two_steps import METHOD, add_second_step, prove

pytestmark = pytest.mark.both_databases(each_value=True)


@pytest.fixture
def site(host_with):
    made = host_with(add_second_step, limits="on")
    made.ann = made.user(confirmed=True)
    return made


def begin(site, **fields):
    """Give the right password; the answer leads to the second step."""
    answer = sign_in(site, **fields)
    assert answer.headers["Location"] == "http://localhost/word"
    return site.http.cookies["authsite-login"]


def rows(site, model=PendingLogin):
    with site.db() as db:
        return db.scalars(select(model)).all()


def reasons(site):
    with site.db() as db:
        failed = select(AuditEvent.details).where(AuditEvent.event == "factor.failed")
        return [details["reason"] for details in db.scalars(failed)]


def test_two_proofs_begin_a_session_that_knows_both(site):
    begin(site, remember="1", next="/account?x=1")
    assert rows(site, BrowserSession) == []
    answer = prove(site)
    assert answer.headers["Location"] == "http://localhost/account?x=1"
    [session] = rows(site, BrowserSession)
    assert (amr_of(session.facts), session.remember) == (("pwd", "otp"), True)
    assert rows(site) == []
    assert "authsite-login" not in site.http.cookies
    assert site.http.get("/account", status=200)
    assert prove(site).status_int == 410  # once


def test_a_pending_login_opens_nothing(site):
    key = begin(site)
    for name in ("authsite", "authsite-guard", "device"):
        assert name not in site.http.cookies
        site.http.reset()
        site.http.set_cookie(name, key)
        site.http.get("/account", status=302)
    site.http.get("/v1/user", headers={"Authorization": f"Bearer {key}"}, status=401)
    assert rows(site, BrowserSession) == []
    [row] = rows(site)
    assert key not in (row.key_hash, str(row.id))


def test_the_cookie_is_of_this_host_for_ten_minutes(host_with):
    site = host_with(add_second_step, base_url="https://auth.example.org")
    site.user()
    answer = sign_in(site)
    [cookie] = [c for c in answer.headers.getall("Set-Cookie") if "authsite-login" in c]
    assert cookie.startswith("__Host-authsite-login=")
    assert {"Max-Age=600", "Path=/", "secure", "HttpOnly", "SameSite=Lax"} <= set(
        cookie.split("; ")
    )


def test_it_ends_after_ten_minutes_and_its_row_is_deleted_a_day_later(site, frozen):
    begin(site)
    frozen.advance(600)
    assert prove(site).status_int == 410
    for later, left in ((24 * 3600 - 1, 1), (1, 0)):
        frozen.advance(later)
        purged(site)
        assert len(rows(site)) == left


def test_it_ends_with_five_wrong_answers_and_the_fifth_right_one_still_counts(site):
    begin(site)
    assert [prove(site, "wrong").status_int for _ in range(4)] == [422] * 4
    assert prove(site).status_int == 303
    submit(site, "/logout")
    begin(site)
    assert [prove(site, "wrong").status_int for _ in range(5)] == [422] * 5
    assert prove(site).status_int == 410
    assert reasons(site) == ["invalid_code"] * 9
    assert len(rows(site, BrowserSession)) == 0


def test_an_answer_that_could_not_be_checked_is_not_counted(site):
    begin(site)
    assert [prove(site, "busy").status_int for _ in range(7)] == [503] * 7
    assert [row.failures for row in rows(site)] == [0]
    assert prove(site).status_int == 303


@pytest.mark.parametrize("ending", ["disabled", "signed out", "password", "erased"])
def test_it_ends_with_the_epoch_of_the_user(site, ending):
    begin(site)
    with site.db() as db:
        ann = db.get(User, site.ann.id)
        if ending == "disabled":
            users.disable(acting(db), ann)
        elif ending == "erased":
            db.delete(ann)
        else:
            users.end_sign_ins(acting(db), ann.id)
    assert prove(site).status_int == 410
    assert rows(site, BrowserSession) == []


def test_of_two_right_answers_at_once_one_begins_a_session(site):
    key = begin(site)
    site.http.reset()
    cookie = {"Cookie": f"authsite-login={key}"}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: prove(site, headers=cookie), range(4)))
    assert sorted(answer.status_int for answer in answers) == [303, 410, 410, 410]
    assert len(rows(site, BrowserSession)) == 1


def test_only_an_unused_row_with_all_its_conditions_is_spent(site):
    """The DELETE itself has the conditions: it does not trust what was read before."""
    keys = site.client()
    with site.db() as db:
        client = db.scalars(select(Client)).one()
        ctx = acting(db, site.app.registry["authsite"])
        verified = gate.Verified(account_of(db.get(User, site.ann.id)), ("pwd",))
        waiting = gate.advance(ctx, verified, Target(client.id, client.epoch, "a"))
        pending.store(ctx, waiting)
    services = site.app.registry["authsite"]
    with site.db() as db:
        found = pending.find(acting(db, services), waiting.key)
    assert (found.target, found.methods) == (waiting.target, (METHOD.name,))
    for change, back in (
        (update(Client).values(epoch=1), update(Client).values(epoch=0)),
        (update(User).values(epoch=1), update(User).values(epoch=0)),
    ):
        with site.db() as db:
            db.execute(change)
            assert not pending.spend(acting(db, services), waiting)
            db.execute(back)
        with site.db() as db:
            db.execute(change)
        assert pending.find(acting(None, services), waiting.key) is None
        with site.db() as db:
            db.execute(back)
    with site.db() as db:
        assert pending.spend(acting(db, services), waiting)
        assert not pending.spend(acting(db, services), waiting)
    assert keys.client_id == str(found.target.client_id)


def test_what_was_begun_for_a_client_does_not_go_on_in_a_browser(site):
    site.client()
    with site.db() as db:
        client = db.scalars(select(Client)).one()
        ctx = acting(db, site.app.registry["authsite"])
        verified = gate.Verified(account_of(db.get(User, site.ann.id)), ("pwd",))
        waiting = gate.advance(ctx, verified, Target(client.id, client.epoch, "a"))
        pending.store(ctx, waiting)
    site.http.set_cookie("authsite-login", waiting.key)
    assert prove(site).status_int == 410
    assert rows(site, BrowserSession) == []
    assert [row.failures for row in rows(site)] == [0]


def test_a_right_password_that_needs_more_is_refunded_and_nothing_is_remembered(host_with):
    site = host_with(add_second_step, limits="on", limits_login_account="2/5 minutes")
    site.user(confirmed=True)
    for _ in range(5):
        begin(site)  # never over the limit of the account
    assert "device" not in site.http.cookies
    prove(site)
    assert "device" in site.http.cookies


def test_the_notice_of_a_new_device_comes_with_the_second_proof(site):
    begin(site)
    prove(site)  # the first login is not on a new device
    submit(site, "/logout")
    site.http.reset()
    site.http.extra_environ["REMOTE_ADDR"] = "203.0.113.77"
    begin(site)
    assert rows(site, OutboxMessage) == []
    prove(site)
    assert [mail.kind for mail in rows(site, OutboxMessage)] == ["new_device"]


def test_the_password_grant_asks_for_the_second_proof_and_issues_nothing(site):
    answer = site.login(site.client(), status=400)
    assert (answer["error"], answer["mfa_methods"]) == ("mfa_required", ["word"])
    assert site.families() == []
    assert len(rows(site)) == 1


def test_a_second_proof_of_another_user_ends_the_former_session(site):
    begin(site)
    prove(site)
    [before] = rows(site, BrowserSession)
    site.user("bo@example.com")
    submit(site, "/login", page="/account", username="bo@example.com", password=PASSWORD)
    assert [row.id for row in rows(site, BrowserSession)] == [before.id]  # until it is complete
    prove(site)
    [after] = rows(site, BrowserSession)
    assert (after.id == before.id, after.user_id == before.user_id) == (False, False)
