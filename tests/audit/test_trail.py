"""The audit trail: one row for each thing that happened, none for what did not."""

from uuid import UUID

import pytest

from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import pseudonym
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.site import PASSWORD, WEB, bearer

LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}


@pytest.fixture
def site(site_with):
    """A site with the web client and Ann, and an audit trail that begins now."""
    made = site_with(**WEB)
    made.keys = made.first_party("web")
    made.ann = made.user()
    with made.db() as db:
        db.query(AuditEvent).delete()
    return made


def trail(site):
    """All rows of the trail, oldest first."""
    with site.db() as db:
        return db.query(AuditEvent).order_by(AuditEvent.id).all()


@pytest.mark.control("G01")
def test_a_login_is_one_row_with_user_client_address_and_time(site):
    begin = clock.now()
    headers = {"User-Agent": "curl/8"}
    form = site.keys.form(grant_type="password", **LOGIN_FORM)
    answer = site.http.post("/v1/oauth/token", form, headers=headers)
    [row] = trail(site)
    [family] = site.families()
    assert (row.event, row.user_id, row.client_id) == (
        "token.issued",
        site.ann.id,
        UUID(site.keys.client_id),
    )
    assert (row.address, row.agent) == ("192.0.2.1", "curl/8")
    assert row.request_id == answer.headers["X-Request-Id"]
    assert row.details == {"family": str(family.id), "amr": "pwd"}
    assert begin <= row.at <= clock.now()


@pytest.mark.control("G01")
@pytest.mark.parametrize("path", ["/v1/oauth/token", "/v1/clients/web/login"])
def test_a_failed_login_is_on_record_although_the_answer_is_an_error(site, path):
    form = site.keys.form(grant_type="password", username="ann@example.com", password="not this")
    site.http.post(path, form, status=400)
    [row] = trail(site)
    assert (row.event, row.user_id) == ("login.failed", site.ann.id)
    assert row.client_id == UUID(site.keys.client_id)
    assert site.families() == []


@pytest.mark.control("G01")
def test_a_failed_login_of_an_unknown_name_is_recorded_under_a_pseudonym(site):
    site.login(site.keys, "stranger@example.com", status=400)
    site.login(site.keys, "stranger@example.com", status=400)
    site.login(site.keys, "other@example.com", status=400)
    names = [row.details["name"] for row in trail(site)]
    assert [row.user_id for row in trail(site)] == [None] * 3
    assert names[0] == names[1] == pseudonym("stranger@example.com") != names[2]
    assert "stranger" not in str([vars(row) for row in trail(site)])


def test_each_change_of_state_is_one_row(site):
    def ann(db):
        return users.find(db, "ann@example.com")

    def web(db):
        return db.get(Client, UUID(site.keys.client_id))

    steps = {
        "client.created": lambda db: clients.create(acting(db), "x", "personal"),
        "client.secret_rotated": lambda db: clients.rotate_secret(acting(db), web(db)),
        "client.secret_retired": lambda db: clients.retire_secret(acting(db), web(db)),
        "user.confirmed": lambda db: users.confirm(acting(db), ann(db)),
        "user.signed_out": lambda db: users.sign_out(acting(db), ann(db)),
        "user.password_changed": lambda db: users.set_password(acting(db), site.ann.id, "x"),
        "user.disabled": lambda db: users.disable(acting(db), ann(db)),
        "user.enabled": lambda db: users.enable(acting(db), ann(db)),
        "client.changed": lambda db: clients.change(acting(db), web(db), name="x"),
        "client.enabled": lambda db: clients.enable(acting(db), web(db)),
        "client.disabled": lambda db: clients.disable(acting(db), web(db).id),
    }
    for step in steps.values():
        with site.db() as db:
            step(db)
    assert site.events() == list(steps)


def test_a_registration_is_one_row(site):
    fields = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
    made = site.http.post_json("/v1/register", fields).json
    [row] = trail(site)
    assert (row.event, str(row.user_id)) == ("user.created", made["id"])


@pytest.mark.control("D01")
def test_a_change_that_is_rolled_back_leaves_no_row(site):
    def disable_and_fail():
        with site.db() as db:
            users.disable(acting(db), users.find(db, "ann@example.com"))
            raise RuntimeError("before the commit")

    with pytest.raises(RuntimeError):
        disable_and_fail()
    assert site.events() == []
    site.login(site.keys)


def test_a_logout_is_one_row(site):
    tokens = site.login(site.keys)
    site.logout(tokens["access_token"])
    site.logout(tokens["access_token"], status=401)
    issued, revoked = trail(site)
    assert revoked.event == "token.revoked"
    assert revoked.details == {"family": issued.details["family"], "why": "logout"}
    assert revoked.user_id == site.ann.id


def test_a_reuse_is_on_record_although_the_answer_is_an_error(site):
    first = site.login(site.keys)["refresh_token"]
    second = site.refresh(site.keys, first)["refresh_token"]
    site.refresh(site.keys, second)
    site.refresh(site.keys, first, status=400)
    site.refresh(site.keys, first, status=400)
    reused = [row for row in trail(site) if row.event == "token.reused"]
    assert [row.user_id for row in reused] == [site.ann.id]


@pytest.mark.parametrize(
    "call",
    [
        lambda site: site.me("at_x", status=401),
        lambda site: site.logout("at_x", status=401),
        lambda site: site.refresh(site.keys, "rt_x", status=400),
        lambda site: site.token(site.keys, 400, grant_type="nonsense"),
        lambda site: site.token(site.keys, 400, grant_type="client_credentials"),
        lambda site: site.login(site.keys, scope="not:granted", status=400),
        lambda site: site.http.post("/v1/register", {"email": "a@"}, status=422),
        lambda site: site.http.get("/v1/user", headers=bearer("x" * 600), status=401),
    ],
)
def test_what_changed_nothing_leaves_no_row(site, call):
    call(site)
    assert site.events() == []


@pytest.mark.control("G02")
def test_no_row_holds_a_password_or_a_token(site):
    tokens = site.login(site.keys)
    fresh = site.refresh(site.keys, tokens["refresh_token"])
    site.login(site.keys, password="wrong-password-in-the-trail", status=400)
    site.login(site.keys, username="typed-the-password-here", status=400)
    site.logout(fresh["access_token"])
    everything = str([vars(row) for row in trail(site)])
    for secret in (
        PASSWORD,
        "wrong-password-in-the-trail",
        "typed-the-password-here",
        site.keys.client_secret,
        *(t[key] for t in (tokens, fresh) for key in ("access_token", "refresh_token")),
    ):
        assert secret not in everything


@pytest.mark.control("G03")
def test_an_agent_is_cut_short_and_stripped_of_control_characters(site):
    agent = 'evil\x1b[31m\x7f\x85 {"level": "error"} ' + "x" * 500
    form = site.keys.form(grant_type="password", **LOGIN_FORM)
    environ = {"HTTP_USER_AGENT": agent}
    site.http.post("/v1/oauth/token", form, extra_environ=environ)
    [row] = trail(site)
    assert row.agent.startswith('evil[31m {"level": "error"} xxx')
    assert row.agent.isprintable()
    assert len(row.agent) <= 200


LONG = {"limits": "on", "limits.login-address": "900/minute"}


def reasons(site):
    """The reasons of the failed logins, oldest first."""
    return [row.details["reason"] for row in trail(site) if row.event == "login.failed"]


@pytest.mark.parametrize("prevent", ["false", "true"])
def test_f13_a_failed_login_is_recorded_with_its_reason_which_the_caller_is_not_told(
    site_with, prevent
):
    settings = {"variant": "B", "require_email_confirmation": "true"}
    site = site_with(**LONG, **settings, prevent_enumeration=prevent)
    keys = site.client()
    site.user("ann@example.com", confirmed=True)
    site.user("new@example.com")
    gone = site.user("gone@example.com", confirmed=True)
    with site.db() as db:
        db.get(User, gone.id).disabled_at = clock.now()
        db.commit()
    answers = [
        site.try_login(keys, PASSWORD, username="nobody@example.com"),
        site.try_login(keys, "wrong", username="ann@example.com"),
        site.try_login(keys, PASSWORD, username="gone@example.com"),
    ]
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].status_int == 400
    answers.append(site.try_login(keys, PASSWORD, username="new@example.com"))
    assert (answers[3].text == answers[0].text) == (prevent == "true")
    assert reasons(site) == ["unknown_name", "wrong_password", "disabled", "unconfirmed"]
    for reason in reasons(site):
        assert not any(reason in answer.text for answer in answers)


def test_f13_a_login_of_a_locked_account_is_recorded_once_an_hour(site_with, frozen):
    site = site_with(**LONG)
    keys = site.client()
    user = site.user()
    for _ in range(9):
        site.try_login(keys)
    assert reasons(site) == ["wrong_password"] * 5 + ["locked"]
    site.try_login(keys, address="198.51.100.9")
    assert reasons(site)[-2:] == ["locked", "locked"]
    assert trail(site)[-1].user_id == user.id
    for _ in range(7):
        site.try_login(keys, username="nobody@example.com")
    assert reasons(site)[-6:] == ["unknown_name"] * 5 + ["locked"]
