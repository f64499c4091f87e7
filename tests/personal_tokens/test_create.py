"""Creating a personal access token: what it may be, and what an attacker gets."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import select, update
from webtest import TestApp

from authsite.oauth.models import Family, PersonalToken
from authsite.oauth.personal.service import MAX_ACTIVE
from authsite.platform.audit.models import AuditEvent
from tests.support.mails import html_of, text_of
from tests.support.personal import PATH, create, created, errors, listed, revoke
from tests.support.site import PASSWORD, Site, bearer
from tests.support.together import together

pytestmark = pytest.mark.both_databases

DAY = timedelta(days=1)


@pytest.fixture
def ann(site):
    """A site with Ann, whose login has the scopes a and b (``login``)."""
    return with_ann(site)


def with_ann(site):
    site.user(confirmed=True)
    site.keys = site.client(scope="a b c", default_scope="a b")
    site.login_of_ann = site.login(site.keys)["access_token"]
    return site


def personal_rows(site):
    with site.db() as db:
        return db.scalars(select(PersonalToken)).all()


def test_a_token_is_shown_once_and_opens_what_a_login_opens(ann, frozen):
    ann.login_of_ann = ann.login(ann.keys)["access_token"]
    answer = create(ann, ann.login_of_ann, scope="b", expires_in="30d")
    made = answer.json
    assert made.pop("token").startswith("pat_")
    assert UUID(made["id"])
    assert made == {
        "id": made["id"],
        "name": "backup",
        "scope": "b",
        "created": "2031-05-17T09:30:00Z",
        "expires": "2031-06-16T09:30:00Z",
        "last_used": None,
    }
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Pragma"] == "no-cache"
    assert listed(ann, ann.login_of_ann) == [made]


def test_the_token_acts_for_its_user_alone(ann):
    ann.user("bo@example.com")
    token = created(ann, ann.login_of_ann)
    assert ann.me(token).json["email"] == "ann@example.com"


def test_the_lifetime_is_ninety_days_unless_another_is_given(ann, frozen):
    login = ann.login(ann.keys)["access_token"]
    default = created(ann, login)
    short = created(ann, login, expires_in="90s")
    longest = created(ann, login, expires_in="365d")
    frozen.advance(90)
    ann.me(short, status=401)
    frozen.advance(90 * DAY.total_seconds() - 91)
    ann.me(default)
    frozen.advance(1)
    ann.me(default, status=401)
    frozen.advance(275 * DAY.total_seconds() - 1)
    ann.me(longest)
    frozen.advance(1)
    ann.me(longest, status=401)


@pytest.mark.parametrize(
    "expires_in",
    ["366d", "400d", "8761h", "0s", "0d", "-1d", "abc", "30", "1y", "1e3d", "٣d", "30 d", "1d1h"],
)
def test_a_lifetime_that_is_not_within_a_year_is_refused(ann, expires_in):
    answer = create(ann, ann.login_of_ann, status=422, expires_in=expires_in)
    assert errors(answer) == [("invalid", "expires_in")]
    assert personal_rows(ann) == []


@pytest.mark.control("T27")
@pytest.mark.parametrize("scope", ["c", "a c", "a b c", "*", "A", "a,b", "a\tb"])
def test_a_scope_that_the_asking_token_does_not_have_is_refused(ann, scope):
    """The client may have c, and Ann's login asked for a and b only."""
    answer = create(ann, ann.login_of_ann, status=422, scope=scope)
    assert errors(answer) == [("not_allowed", "scope")]
    assert personal_rows(ann) == []


@pytest.mark.parametrize(("scope", "given"), [(None, ""), ("", ""), ("b a b", "b a"), (" a ", "a")])
def test_without_a_scope_the_token_has_none(ann, scope, given):
    fields = {} if scope is None else {"scope": scope}
    assert create(ann, ann.login_of_ann, **fields).json["scope"] == given


def test_the_settings_scopes_of_the_account_page_do_not_widen_the_api(site_with):
    site = with_ann(site_with(personal_token_scopes="c"))
    create(site, site.login_of_ann, status=422, scope="c")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("", "required"),
        ("   ", "required"),
        ("a\r\nBcc: eve@evil.example", "invalid"),
        ("a\x1b[31m", "invalid"),
        ("a\u202eb", "invalid"),
        ("a\x00b", "invalid"),
        ("x" * 101, "too_long"),
        ("x" * 60_000, "too_long"),
    ],
)
def test_a_name_is_one_short_line(ann, name, code):
    answer = create(ann, ann.login_of_ann, status=422, name=name)
    assert errors(answer) == [(code, "name")]


def test_a_name_of_a_megabyte_is_refused_unread(ann):
    create(ann, ann.login_of_ann, status=413, name="x" * 1_000_000)


@pytest.mark.parametrize("missing", ["name", "current_password"])
def test_a_missing_field_is_named(ann, missing):
    body = {"name": "backup", "current_password": PASSWORD}
    del body[missing]
    answer = ann.http.post_json(PATH, body, headers=bearer(ann.login_of_ann), status=422)
    assert errors(answer) == [("required", missing)]


def test_all_mistakes_are_named_at_once_and_before_the_password_is_checked(ann, hashes):
    hashes.clear()
    wrong = {"name": "a\tb", "scope": "c", "expires_in": "2y", "current_password": "wrong wrong"}
    answer = create(ann, ann.login_of_ann, status=422, **wrong)
    assert [field for _, field in errors(answer)] == ["name", "scope", "expires_in"]
    assert hashes == []


def test_a_wrong_current_password_creates_nothing_and_is_limited(site_with):
    site = with_ann(site_with(limits="on"))
    body = {"name": "x", "current_password": "not my password"}
    headers = bearer(site.login_of_ann)
    answers = [site.http.post_json(PATH, body, headers=headers, status="*") for _ in range(7)]
    assert [answer.status_int for answer in answers] == [422] * 5 + [429] * 2
    assert errors(answers[0]) == [("invalid_password", "current_password")]
    assert personal_rows(site) == []
    assert site.events().count("reauthentication.failed") == 5


def test_creations_are_limited_for_each_user(site_with):
    site = with_ann(site_with(limits="on", **{"limits.personal-tokens": "3/hour"}))
    for _ in range(3):
        create(site, site.login_of_ann)
    again = site.login(site.keys)["access_token"]
    answer = create(site, again, status=429)
    assert errors(answer) == [("too_many_attempts", None)]
    site.user("bo@example.com")
    create(site, site.login(site.keys, "bo@example.com")["access_token"])


def test_wrong_passwords_do_not_use_up_the_owner_s_creations(site_with):
    site = with_ann(site_with(limits="on", **{"limits.personal-tokens": "1/hour"}))
    create(site, site.login_of_ann, status=422, current_password="not my password")
    create(site, site.login_of_ann)


def fill(site, count):
    """A number of active tokens of Ann, copies of one."""
    create(site, site.login_of_ann)
    with site.db() as db:
        [row] = db.execute(select(PersonalToken.__table__)).mappings()
        copies = [{**row, "id": UUID(int=number)} for number in range(1, count)]
        db.execute(PersonalToken.__table__.insert(), copies)


def test_a_user_has_at_most_fifty_active_tokens(ann, frozen):
    ann.login_of_ann = ann.login(ann.keys)["access_token"]
    fill(ann, MAX_ACTIVE)
    answer = create(ann, ann.login_of_ann, status=409)
    assert errors(answer) == [("too_many_tokens", None)]
    revoke(ann, ann.login_of_ann, UUID(int=1))
    create(ann, ann.login_of_ann)
    create(ann, ann.login_of_ann, status=409)
    ann.user("bo@example.com")
    create(ann, ann.login(ann.keys, "bo@example.com")["access_token"])
    frozen.advance(91 * DAY.total_seconds())
    create(ann, ann.login_of_ann)  # the others have expired


def test_twenty_creations_at_once_do_not_exceed_the_limit(ann):
    """Two applications stand for two processes."""
    fill(ann, MAX_ACTIVE - 3)
    other = Site(ann.url)
    body = {"name": "race", "current_password": PASSWORD}

    def creator(site):
        http = TestApp(site.app)
        headers = bearer(ann.login_of_ann)
        return lambda: http.post_json(PATH, body, headers=headers, status="*").status_int

    seen = together(*[creator(site) for site in (ann, other) for _ in range(10)])
    other.database.dispose()
    # On a busy machine some are 503. What they left is created one after the other.
    assert set(seen) <= {201, 409, 503}
    assert seen.count(201) <= 3
    missing = MAX_ACTIVE - len(listed(ann, ann.login_of_ann))
    assert missing == 3 - seen.count(201)
    for _ in range(missing):
        create(ann, ann.login_of_ann)
    create(ann, ann.login_of_ann, status=409)


def test_a_client_without_a_user_has_no_tokens(ann):
    machine = ann.token(ann.client("personal"), grant_type="client_credentials").json
    answer = create(ann, machine["access_token"], status=403)
    assert errors(answer) == [("user_required", None)]
    ann.http.get(PATH, headers=bearer(machine["access_token"]), status=403)
    ann.http.post_json(PATH, {}, status=401)


def test_the_creation_is_on_record_and_the_token_is_stored_nowhere(ann):
    answer = create(ann, ann.login_of_ann, name="nightly").json
    ann.mails()
    with ann.db() as db:
        [event] = db.scalars(select(AuditEvent).where(AuditEvent.event == "token.created")).all()
        [login] = db.scalars(select(Family)).all()
    assert event.details == {"token": answer["id"], "session": str(login.id)}
    [row] = personal_rows(ann)
    assert (row.name, row.session_id) == ("nightly", login.id)
    assert (row.client_id, row.client_epoch) == (login.client_id, login.client_epoch)
    stored = " ".join(str(value) for value in vars(row).values())
    assert answer["token"].removeprefix("pat_")[:20] not in stored


def test_the_owner_is_told_by_mail_with_the_name(ann):
    ann.mails()
    create(ann, ann.login_of_ann, name="nightly <backup>")
    [mail] = ann.mails()
    assert mail["To"] == "ann@example.com"
    assert mail["Subject"] == "New access token for your account at authsite"
    assert "“nightly" not in text_of(mail)  # with < and > it could be markup: no name is shown
    create(ann, ann.login_of_ann, name="nightly & backup")
    [mail] = ann.mails()
    assert "“nightly & backup”" in " ".join(text_of(mail).split())
    assert "nightly &amp; backup" in html_of(mail)
    assert "/password/forgot" in text_of(mail)
    assert "pat_" not in mail.as_string()


@pytest.mark.control("M03")
@pytest.mark.parametrize("name", ["see https://evil.example", "evil.example", "mail eve@evil.ex"])
def test_a_name_that_is_a_link_is_not_mailed(ann, name):
    ann.mails()
    create(ann, ann.login_of_ann, name=name)
    [mail] = ann.mails()
    assert "evil" not in mail.as_string() + text_of(mail) + html_of(mail)


@pytest.mark.control("M03")
def test_an_address_that_is_not_confirmed_gets_no_text_of_the_caller(site):
    """Eve registers another person's address: our mail must not carry her words there."""
    site.user("victim@example.com")
    login = site.login(site.client(), "victim@example.com")["access_token"]
    site.mails()
    create(site, login, name="You have won")
    [mail] = site.mails()
    assert "won" not in text_of(mail) + html_of(mail)


def test_a_mail_about_a_token_that_was_deleted_since_is_sent_without_its_name(ann):
    ann.mails()
    create(ann, ann.login_of_ann, name="nightly")
    with ann.db() as db:
        db.delete(db.scalars(select(PersonalToken)).one())
    [mail] = ann.mails()
    assert "personal access token was created" in " ".join(text_of(mail).split())


def test_no_personal_token_has_a_scope_of_openid(ann):
    """Not even if the token that asks for it has one: it signs no one in."""
    with ann.db() as db:
        db.execute(update(Family).values(scope="a openid", granted_scope="a openid"))
    create(ann, ann.login_of_ann, status=422, scope="openid")
    assert create(ann, ann.login_of_ann, scope="a").json["scope"] == "a"
