"""The table of states: which page a browser gets, and the error with ``prompt=none``."""

import pytest

from authsite.oauth.authorization.service import State, Step, decide
from authsite.oauth.authorization_reasons import Reason
from authsite.users.models import User
from tests.support.authorizing import (
    BASE,
    answer_of,
    application,
    asks_consent,
    authorize,
    code_for,
    follow,
    leads_to,
    log_in,
    press,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.pages import csrf_of

SIGNED_IN = State(signed_in=True)
ROWS = [
    (State(signed_in=False), Step.LOGIN, "login_required"),
    (State(signed_in=False, wants_registration=True), Step.REGISTER, "login_required"),
    (SIGNED_IN._replace(pending=True), Step.LOGIN, "login_required"),
    (SIGNED_IN._replace(wants_login=True), Step.LOGIN, "login_required"),
    (SIGNED_IN._replace(other_user=True), Step.LOGIN, "login_required"),
    (SIGNED_IN._replace(wants_choice=True), Step.CHOOSE, "account_selection_required"),
    (SIGNED_IN._replace(too_old=True), Step.VERIFY, "login_required"),
    (SIGNED_IN._replace(level_low=True), Step.VERIFY, "interaction_required"),
    (SIGNED_IN._replace(unconfirmed=True), Step.CONFIRM_ADDRESS, "interaction_required"),
    (SIGNED_IN._replace(not_in_group=True), Step.NOT_IN_GROUP, "access_denied"),
    (SIGNED_IN._replace(consent_missing=True), Step.CONSENT, "consent_required"),
    (SIGNED_IN._replace(wants_consent=True), Step.CONSENT, "consent_required"),
]


@pytest.mark.parametrize(("state", "step", "error"), ROWS)
def test_each_row_has_its_page_and_its_error(state, step, error):
    found, reason = decide(state)
    assert (found, reason.error) == (step, error)


@pytest.mark.parametrize("number", range(2, len(ROWS)))
def test_an_earlier_row_comes_first(number):
    both = SIGNED_IN
    for state, _, _ in ROWS[2 : number + 1]:
        both = both._replace(
            **{name: True for name, value in state._asdict().items() if value is True}
        )
    assert decide(both)[0] is ROWS[2][1]
    last = ROWS[number][0]
    later = [state for state, _, _ in ROWS[number:]]
    for state in later:
        last = last._replace(**{k: True for k, v in state._asdict().items() if v is True})
    assert decide(last)[0] is ROWS[number][1]


@pytest.mark.parametrize("field", ["pending", "wants_login", "wants_choice"])
def test_a_sign_in_after_the_request_satisfies(field):
    after = State(signed_in=True, fresh=True, asked_again=True)
    assert decide(after._replace(**{field: True}))[0] is Step.ANSWER


@pytest.mark.parametrize("field", ["wants_login", "too_old"])
def test_a_sign_in_without_a_proof_leads_to_one_and_never_round_again(field):
    silent = State(signed_in=True, fresh=True, **{field: True})
    assert decide(silent) == (Step.VERIFY, Reason.LOGIN_NEEDED)


def test_nothing_is_missing():
    assert decide(SIGNED_IN) == (Step.ANSWER, None)
    assert decide(SIGNED_IN._replace(consent_missing=True, allowed=True))[0] is Step.ANSWER


def test_nobody_is_signed_in(issuer, app, ann):
    answer = authorize(issuer, app)
    assert leads_to(answer) == "/login"
    assert "Sign in to continue to Wiki." in issuer.http.get(answer.location).text
    assert answer_of(authorize(issuer, app, prompt="none"))["error"] == "login_required"


def test_a_login_and_a_press_lead_to_a_code(issuer, app, ann):
    consent = log_in(issuer, authorize(issuer, app))
    assert asks_consent(consent)
    done = press(issuer, consent)
    assert done.status_int == 200  # no redirect to another origin after a form
    back = answer_of(done)
    assert target_of(done).startswith(app.redirect_uri + "?")
    assert back["code"].startswith("ac_")
    assert (back["state"], back["iss"]) == ("st-1", BASE)
    assert "authorization.granted" in issuer.events()


def test_without_a_form_a_redirect_leads_back(issuer, app, ann):
    code_for(issuer, app)
    answer = authorize(issuer, app)
    assert answer.status_int == 302
    assert set(answer_of(answer)) == {"code", "state", "iss"}
    assert answer_of(authorize(issuer, app, prompt="none"))["code"]


def test_no_consent(issuer, app, ann):
    sign_in(issuer)
    assert asks_consent(authorize(issuer, app))
    assert answer_of(authorize(issuer, app, prompt="none"))["error"] == "consent_required"


def test_no_is_access_denied(issuer, app, ann):
    sign_in(issuer)
    back = answer_of(press(issuer, authorize(issuer, app), "deny"))
    assert (back["error"], back["state"], back["iss"]) == ("access_denied", "st-1", BASE)
    assert issuer.events()[-1] == "authorization.denied"
    assert asks_consent(authorize(issuer, app))


def test_more_is_asked_for_again(issuer, app, ann):
    code_for(issuer, app)
    assert answer_of(authorize(issuer, app, scope="openid"))["code"]
    assert asks_consent(authorize(issuer, app, scope="openid email phone"))


def test_offline_access_needs_no_prompt_and_is_asked_for_once(issuer, app, ann):
    """It is neither dropped without ``prompt=consent`` nor asked for each time."""
    scope = "openid offline_access"
    tokens = redeemed(issuer, app, code_for(issuer, app, scope=scope))
    assert tokens["scope"] == scope
    assert answer_of(authorize(issuer, app, scope=scope, prompt="none"))["code"]
    sign_out = issuer.http.get(f"{BASE}/logout")
    issuer.http.post(f"{BASE}/logout", {"csrf_token": csrf_of(sign_out)}, status=303)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert redeemed(issuer, app, None, redirect_uri=None, verifier=None, **form)["access_token"]


def test_prompt_consent_asks_each_time(issuer, app, ann):
    code_for(issuer, app)
    page = authorize(issuer, app, prompt="consent")
    assert answer_of(press(issuer, page))["code"]
    assert asks_consent(authorize(issuer, app, prompt="consent"))


def test_a_first_party_is_not_asked_for(issuer, ann):
    ours = application(issuer, first_party=True)
    sign_in(issuer)
    assert answer_of(authorize(issuer, ours))["code"]
    assert answer_of(authorize(issuer, ours, prompt="none"))["code"]
    page = authorize(issuer, ours, prompt="consent")
    assert answer_of(press(issuer, page))["code"]


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:8000/cb", "http://localhost/cb", "com.example.app:/cb"]
)
def test_a_program_needs_a_press_each_time(issuer, ann, uri):
    program = application(issuer, "native", redirect_uris=[uri], first_party=True)
    sign_in(issuer)
    for _ in range(2):
        page = authorize(issuer, program)
        done = press(issuer, page)
        assert done.status_int == 200
        assert target_of(done).startswith(f"{uri}?code=")
    assert answer_of(authorize(issuer, program, prompt="none"))["error"] == "consent_required"


def test_an_address_that_is_not_confirmed(issuer, app):
    """The page comes before the application sees anything."""
    issuer.user()
    sign_in(issuer)
    page = authorize(issuer, app)
    assert page.status_int == 403
    assert "Confirm your address" in page.text
    assert "/email/link?next=" in page.text
    assert answer_of(authorize(issuer, app, prompt="none"))["error"] == "interaction_required"


def test_a_client_may_do_without_a_confirmed_address(issuer):
    issuer.user()
    easy = application(issuer, require_confirmed=False)
    assert code_for(issuer, easy)


def test_a_group_that_is_required(issuer, ann):
    closed = application(issuer, require_group="ops")
    sign_in(issuer)
    page = authorize(issuer, closed)
    assert page.status_int == 403
    assert "the members of a group" in page.text
    link = page.html.find("a", string="Back to the application")["href"]
    assert link.startswith(f"{closed.redirect_uri}?error=access_denied&")
    assert page.headers["X-Request-Id"] in page.text
    assert answer_of(authorize(issuer, closed, prompt="none"))["error"] == "access_denied"
    with issuer.db() as db:
        db.get(User, ann.id).labels = "ops"
    assert code_for(issuer, closed)


def test_prompt_create(issuer, app):
    answer = authorize(issuer, app, prompt="create")
    assert leads_to(answer) == "/register"
    assert "next=" in answer.location


def test_the_form_to_register_names_the_application(issuer, app):
    """In the language that the application asked for, also after a mistake."""
    sent = {"prompt": "create", "login_hint": "una@example.com", "ui_locales": "fr de"}
    page = issuer.http.get(authorize(issuer, app, **sent).location)
    for shown in (page, page.forms[0].submit(status=422)):
        assert "Wiki" in shown.html.h1.parent.text
        assert shown.html.html["lang"] == "fr"
        assert shown.forms[0]["email"].value == "una@example.com"


def test_a_mistake_at_the_login_keeps_the_name_of_the_application(issuer, app, ann):
    page = issuer.http.get(authorize(issuer, app).location)
    page.forms[0]["username"], page.forms[0]["password"] = "ann@example.com", "wrong"
    assert "Sign in to continue to Wiki." in page.forms[0].submit(status=422).text


def test_prompt_create_without_registration(site_with):
    site = site_with(base_url=BASE, registration="off")
    assert leads_to(authorize(site, application(site), prompt="create")) == "/login"


def test_prompt_select_account(issuer, app, ann):
    code_for(issuer, app)
    page = authorize(issuer, app, prompt="select_account")
    assert "Continue as ann@example.com" in page.text
    assert answer_of(press(issuer, page, "continue"))["code"]
    assert "Continue as" in authorize(issuer, app, prompt="select_account").text


def test_another_account(issuer, app, ann):
    issuer.user("bo@example.com", confirmed=True)
    sign_in(issuer)
    page = authorize(issuer, app, prompt="select_account")
    link = page.html.find("a", string="Use another account")["href"]
    shown = issuer.http.get(BASE + link)
    form = next(each for each in shown.forms.values() if "password" in each.fields)
    form["username"], form["password"] = "bo@example.com", "correct horse battery"
    consent = follow(issuer, form.submit())
    assert "bo@example.com" in consent.text
    assert answer_of(press(issuer, consent))["code"]
