"""``prompt=login`` and ``max_age``: a sign-in satisfies them, once and for this request alone."""

from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import pytest
from sqlalchemy import select, update

from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.sign_in.sessions.models import BrowserSession
from tests.support.authorizing import (
    BASE,
    answer_of,
    application,
    authorize,
    code_for,
    follow,
    leads_to,
    log_in,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.pages import submit
from tests.support.site import PASSWORD

REAUTHENTICATION = [{"prompt": "login"}, {"max_age": "0"}, {"prompt": "login", "max_age": "0"}]


def prove(site, answer):
    """Sign in again, or prove again, whatever the answer leads to; what comes after it."""
    if leads_to(answer) == "/login":
        return log_in(site, answer)
    form = site.http.get(target_of(answer), status=200).forms["factor"]
    form["current_password"] = PASSWORD
    return follow(site, form.submit(status="*"))


def session_ids(site):
    with site.db() as db:
        return db.scalars(select(BrowserSession.id)).all()


@pytest.mark.parametrize("asked", REAUTHENTICATION)
def test_a_sign_in_satisfies_it(issuer, app, ann, asked):
    """The session keeps its row."""
    code_for(issuer, app)
    before = session_ids(issuer)
    answer = authorize(issuer, app, **asked)
    query = dict(parse_qsl(urlsplit(answer.location).query))
    if "prompt" in asked:
        assert (leads_to(answer), query["prompt"]) == ("/login", "login")
    else:
        assert (leads_to(answer), query["max_age"]) == ("/login/verify", "0")
    done = prove(issuer, answer)
    assert done.status_int == 200
    assert answer_of(done)["code"]
    assert session_ids(issuer) == before


@pytest.mark.parametrize("asked", REAUTHENTICATION)
def test_it_is_asked_again_for_the_next_request(issuer, app, ann, asked):
    answer_of(prove(issuer, code_for(issuer, app) and authorize(issuer, app, **asked)))
    assert leads_to(authorize(issuer, app, **asked)) in ("/login", "/login/verify")


@pytest.mark.parametrize("asked", REAUTHENTICATION)
def test_without_a_session_one_login_is_enough(issuer, ann, asked):
    ours = application(issuer, first_party=True)
    assert answer_of(log_in(issuer, authorize(issuer, ours, **asked)))["code"]


def test_a_sign_in_at_a_provider_that_tells_no_time_is_too_old_for_any_max_age(issuer, ann):
    """It may be a silent one. The proof that follows has a time, so it is asked for once."""
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    with issuer.db() as db:
        db.execute(update(BrowserSession).values(facts=pack(("idp", "undated"))))
    assert answer_of(authorize(issuer, ours))["code"]
    answer = authorize(issuer, ours, max_age="10000")
    assert leads_to(answer) == "/login/verify"
    assert answer_of(prove(issuer, answer))["code"]


def at_of(answer):
    """The continuation in an answer that leads to the login page."""
    return dict(parse_qsl(urlsplit(answer.location).query))["next"]


def test_the_seal_is_for_this_request_alone(issuer, ann):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    target = at_of(authorize(issuer, ours, prompt="login"))
    sealed = target.partition("&_at=")[2]
    log_in(issuer, authorize(issuer, ours, prompt="login"))
    assert answer_of(issuer.http.get(BASE + target))["code"]  # a sign-in that was later
    other = authorize(issuer, ours, prompt="login", scope="openid phone", _at=sealed)
    assert leads_to(other) == "/login"
    forged = target.replace("&_at=A", "&_at=B")
    assert forged != target
    assert leads_to(issuer.http.get(BASE + forged)) == "/login"


def test_the_seal_is_for_this_browser_alone(issuer, ann):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    target = at_of(authorize(issuer, ours, prompt="login"))
    issuer.http.reset()
    sign_in(issuer)
    assert leads_to(issuer.http.get(BASE + target)) == "/login"


def test_a_sign_in_of_before_does_not_satisfy(issuer, ann):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    target = at_of(authorize(issuer, ours, prompt="login"))
    assert leads_to(issuer.http.get(BASE + target)) == "/login"


def test_the_seal_ends_after_15_minutes(issuer, ann, frozen):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    frozen.advance(1)
    target = at_of(authorize(issuer, ours, prompt="login"))
    frozen.advance(1)
    log_in(issuer, authorize(issuer, ours, prompt="login"))
    frozen.advance(14 * 60)
    assert answer_of(issuer.http.get(BASE + target))["code"]
    frozen.advance(60)
    assert leads_to(issuer.http.get(BASE + target)) == "/login"


def test_max_age_counts_from_the_sign_in(issuer, ann, frozen):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    frozen.advance(59)
    assert answer_of(authorize(issuer, ours, max_age="60"))["code"]
    frozen.advance(1)
    assert leads_to(authorize(issuer, ours, max_age="60")) == "/login/verify"
    back = answer_of(authorize(issuer, ours, max_age="60", prompt="none"))
    assert back["error"] == "login_required"
    assert answer_of(authorize(issuer, ours, max_age="10000"))["code"]


def test_a_sign_in_at_a_provider_that_was_asked_satisfies_it_however_old_it_is(issuer, ann):
    """The provider did not ask the user again: its time is that of long ago."""
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    target = at_of(authorize(issuer, ours, prompt="login"))
    log_in(issuer, authorize(issuer, ours, prompt="login"))
    with issuer.db() as db:
        session = db.scalar(select(BrowserSession))
        session.auth_at = clock.now() - timedelta(hours=3)
    assert leads_to(issuer.http.get(BASE + target)) == "/login"
    with issuer.db() as db:
        db.scalar(select(BrowserSession)).identity_id = session.id
    assert leads_to(issuer.http.get(BASE + target)) == "/login/verify"
    with issuer.db() as db:
        db.scalar(select(BrowserSession)).facts = pack(("idp", "prompted"))
    assert answer_of(issuer.http.get(BASE + target))["code"]


@pytest.mark.parametrize("asked", [{"prompt": "login"}, {"max_age": "0"}])
def test_another_key_of_the_session_of_a_provider_is_no_sign_in(issuer, ann, frozen, asked):
    """To sign out everywhere else needs no proof, and gives the session a new key."""
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    with issuer.db() as db:
        db.scalar(select(BrowserSession)).identity_id = UUID(int=7)
    frozen.advance(60)
    target, before = at_of(authorize(issuer, ours, **asked)), issuer.http.cookies.copy()
    submit(issuer, "/account/sessions/end-others", page="/account/security")
    assert issuer.http.cookies != before
    assert leads_to(issuer.http.get(BASE + target)) in ("/login", "/login/verify")
    with issuer.db() as db:
        session = db.scalar(select(BrowserSession))
        session.confirmed_at = session.auth_at = clock.now()
    assert answer_of(issuer.http.get(BASE + target))["code"]


def test_another_user_than_the_hint_names(issuer, app, ann):
    issuer.user("bo@example.com", confirmed=True)
    ours = application(issuer, first_party=True)
    code = code_for(issuer, ours, username="bo@example.com")
    hint = redeemed(issuer, ours, code)["id_token"]
    issuer.http.reset()
    sign_in(issuer)
    answer = authorize(issuer, ours, id_token_hint=hint)
    assert leads_to(answer) == "/login"
    silent = authorize(issuer, ours, id_token_hint=hint, prompt="none")
    assert answer_of(silent)["error"] == "login_required"
    assert answer_of(log_in(issuer, answer, "bo@example.com"))["code"]
    assert answer_of(authorize(issuer, ours, id_token_hint=hint, prompt="none"))["code"]


def test_a_wrong_password_keeps_the_way(issuer, ann):
    ours = application(issuer, first_party=True)
    shown = issuer.http.get(target_of(authorize(issuer, ours)))
    form = next(each for each in shown.forms.values() if "password" in each.fields)
    form["username"], form["password"] = "ann@example.com", "wrong wrong"
    again = form.submit(status=422)
    form = next(each for each in again.forms.values() if "password" in each.fields)
    form["password"] = "correct horse battery"
    assert answer_of(issuer.http.get(form.submit(status=303).location))["code"]


@pytest.mark.parametrize("age", ["2147483647", "9999999999", str(2**53)])
def test_any_age_is_an_age(issuer, ann, age):
    """Clients send the largest number that they know where every age is right."""
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    assert answer_of(authorize(issuer, ours, max_age=age))["code"]


@pytest.mark.parametrize("age", ["-1", str(2**53 + 1), "9" * 17, "1.5", "1e3"])
def test_what_is_no_age_is_refused(issuer, ann, age):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    assert answer_of(authorize(issuer, ours, max_age=age))["error"] == "invalid_request"
