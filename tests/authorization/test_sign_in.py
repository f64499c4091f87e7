"""The login that an authorization request leads to: a second proof, a provider, a higher level."""

import time
from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlalchemy import delete, text, update

from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.factor_pages.people import add_app
from tests.providers.people import send
from tests.sign_in.two_steps import RIGHT, add_second_step
from tests.support import databases
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    asks_consent,
    authorize,
    code_for,
    follow,
    leads_to,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.codes import claims_of
from tests.support.pages import submit
from tests.support.site import PASSWORD, Site

PROVIDED = "ann@example.com"


@pytest.fixture
def two_steps(host_with):
    """A host whose users need a second proof, of the level aal2."""
    site = host_with(add_second_step, **OPENID, openid="on")
    site.user(confirmed=True)
    return site


def first_step(site, answer):
    """Give the password; the redirect to the page of the second proof."""
    shown = site.http.get(target_of(answer))
    form = next(each for each in shown.forms.values() if "password" in each.fields)
    form["username"], form["password"] = "ann@example.com", "correct horse battery"
    pending = form.submit(status=303)
    assert urlsplit(pending.location).path == "/word"


def second_step(site):
    """Give the second proof; what comes after it."""
    return follow(site, site.http.post(f"{BASE}/word?word={RIGHT.replace(' ', '+')}"))


@pytest.mark.parametrize(
    "asked", [{}, {"prompt": "login"}, {"max_age": "0"}, {"acr_values": "aal2"}]
)
def test_a_second_proof_keeps_the_way(two_steps, asked):
    ours = application(two_steps, first_party=True)
    answer = authorize(two_steps, ours, **asked)
    first_step(two_steps, answer)
    assert leads_to(authorize(two_steps, ours)) == "/login"  # it is pending
    assert answer_of(second_step(two_steps))["code"]


def test_a_pending_login_beside_a_session(two_steps):
    ours = application(two_steps, first_party=True)
    first_step(two_steps, authorize(two_steps, ours))
    second_step(two_steps)
    assert answer_of(authorize(two_steps, ours))["code"]
    first_step(two_steps, authorize(two_steps, ours, prompt="login"))
    answer = authorize(two_steps, ours)
    assert leads_to(answer) == "/login"
    assert dict(parse_qsl(urlsplit(answer.location).query))["prompt"] == "login"  # so it is shown
    assert answer_of(authorize(two_steps, ours, prompt="none"))["error"] == "login_required"


def test_a_level_that_no_method_gives(host_with):
    two_steps = host_with(add_second_step, **OPENID, openid="on", factors="totp")
    two_steps.user(confirmed=True)
    ours = application(two_steps, first_party=True)
    for values, error in (("phr", "unmet_authentication_requirements"), ("aal2", "login_required")):
        back = answer_of(authorize(two_steps, ours, acr_values=values, prompt="none"))
        assert back["error"] == error
    assert leads_to(authorize(two_steps, ours, acr_values="phr aal2")) == "/login"


@pytest.fixture
def provider(providers, site_of):
    """A site with a provider, and the provider."""
    fake = providers("google", "corp")
    return site_of(fake, **OPENID), fake


def through(site, fake, start):
    """From the page with the button to the provider and back; what comes after it."""
    form = next(iter(start.forms.values()))
    sent = form.submit(status=200)
    url = sent.html.select_one("a.button.primary")["href"]
    return url, follow(site, site.http.get(fake.authorize(url), status="*"))


def test_the_parameter_provider_leads_to_its_start(provider):
    site, fake = provider
    app = application(site)
    answer = authorize(site, app, provider="corp", login_hint=PROVIDED)
    assert leads_to(answer) == "/login/with/corp"
    url, page = through(site, fake, site.http.get(answer.location))
    assert dict(parse_qsl(urlsplit(url).query))["login_hint"] == PROVIDED
    consent = follow(site, send(page, "/create"))
    assert asks_consent(consent)


def test_a_provider_that_is_unknown_leads_to_the_login_page(issuer, app):
    assert leads_to(authorize(issuer, app, provider="corp")) == "/login"


def test_a_provider_that_does_not_ask_again_satisfies_prompt_login(provider):
    """Its ``auth_time`` may be hours ago."""
    site, fake = provider
    fake.claims["auth_time"] = int(time.time()) - 7200
    ours = application(site, first_party=True)
    answer = authorize(site, ours)
    _, page = through(site, fake, site.http.get(f"{BASE}/login/with/corp"))
    follow(site, send(page, "/create"))
    answer = authorize(site, ours, provider="corp", prompt="login")
    assert leads_to(answer) == "/login/with/corp"
    _, done = through(site, fake, site.http.get(answer.location))
    assert answer_of(done)["code"]


def test_the_code_becomes_tokens(issuer, app):
    ann = issuer.user(confirmed=True)
    answer = redeemed(issuer, app, code_for(issuer, app, scope="openid email offline_access"))
    assert answer["id_token"]
    assert answer["refresh_token"]
    tokens = issuer.introspect(issuer.client("resource-server"), answer["access_token"])
    assert tokens["active"] is False or tokens["sub"] == str(ann.id)


def test_without_a_usable_key_there_is_a_page_or_an_answer(database_url):
    first = Site(database_url, **OPENID)  # a process that has read no keys yet
    databases.empty(first.database)
    app = application(first)
    assert leads_to(authorize(first, app)) == "/login"
    with first.db() as db:
        db.execute(text("UPDATE signing_keys SET private = 'x'"))
    site = Site(database_url, **OPENID)
    told = answer_of(authorize(site, app, prompt="none"))  # no person would see a page
    assert (told["error"], told["state"]) == ("temporarily_unavailable", "st-1")
    answer = authorize(site, app)
    assert answer.status_int == 503
    assert answer.headers["X-Request-Id"] in answer.text
    assert "Try again in a few minutes" in answer.text
    assert '<a class="button primary" href="">Try again</a>' in answer.text
    assert site.events()[-1] == "authorization.refused"
    assert leads_to(authorize(site, app, scope="email")) == "/login"  # OAuth alone needs no key
    with first.db() as db:
        db.execute(delete(SigningKey))
    for each in (first, site):
        each.database.dispose()


@pytest.fixture
def with_app(host_with):
    """A host where Ann has an authenticator app, and a first-party application."""
    site = host_with(lambda _config: None, **OPENID, openid="on")
    ann = site.user(confirmed=True)
    site.phone, _codes = add_app(site, ann)
    site.ours = application(site, first_party=True)
    return site


def enter(site):
    """A session by the password alone, as of before the app was there."""
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=None))
    sign_in(site)
    with site.db() as db:
        db.execute(update(User).values(second_factor_at=clock.now()))


def give(site, answer, **fields):
    """Fill in the page that asks for a proof; what comes after it."""
    form = site.http.get(target_of(answer), status=200).forms["factor"]
    for name, value in fields.items():
        form[name] = value
    return follow(site, form.submit(status=303))


def test_a_step_up_after_a_prompted_login_is_no_circle(with_app):
    enter(with_app)
    with with_app.db() as db:  # the login asks for no factor, and the level is too low again
        db.execute(update(User).values(second_factor_at=None))
    answer = authorize(with_app, with_app.ours, prompt="login", acr_values="aal2")
    assert leads_to(answer) == "/login"
    form = with_app.http.get(target_of(answer)).forms[0]
    form["username"], form["password"] = "ann@example.com", PASSWORD
    back = form.submit(status=303)
    verify = with_app.http.get(back.location, status=302)
    assert leads_to(verify) == "/login/verify"
    assert answer_of(give(with_app, verify, code=with_app.phone.code()))["code"]


def test_a_level_is_reached_by_a_step_up_and_the_id_token_tells_it(with_app):
    enter(with_app)
    asked = {"acr_values": "aal2", "scope": "openid"}
    back = answer_of(authorize(with_app, with_app.ours, prompt="none", **asked))
    assert back["error"] == "interaction_required"
    answer = authorize(with_app, with_app.ours, **asked)
    assert leads_to(answer) == "/login/verify"
    done = give(with_app, answer, code=with_app.phone.code())
    claims = claims_of(redeemed(with_app, with_app.ours, answer_of(done)["code"])["id_token"])
    assert (claims["acr"], claims["amr"]) == ("aal2", ["pwd", "otp", "mfa"])


def test_an_old_sign_in_with_a_factor_asks_for_both(with_app, frozen):
    enter(with_app)
    give(
        with_app,
        authorize(with_app, with_app.ours, acr_values="aal2"),
        code=with_app.phone.code(),
    )
    frozen.advance(61)
    answer = authorize(with_app, with_app.ours, max_age="60")
    form = with_app.http.get(target_of(answer)).forms["factor"]
    assert {"current_password", "code"} <= set(form.fields)
    done = give(with_app, answer, current_password=PASSWORD, code=with_app.phone.present())
    assert answer_of(done)["code"]


def test_a_level_that_nothing_of_the_user_gives_leads_to_adding_a_factor(with_app):
    enter(with_app)
    answer = authorize(with_app, with_app.ours, acr_values="phr")
    assert leads_to(answer) == "/login/verify"
    added = with_app.http.get(target_of(answer), status=303)
    assert urlsplit(added.location).path == "/account/factors"


def test_under_the_policy_an_application_gets_no_code_for_a_weak_sign_in(host_with):
    site = host_with(lambda _config: None, **OPENID, openid="on", second_factor="required")
    ann = site.user(confirmed=True)
    phone, _codes = add_app(site, ann)
    ours = application(site, first_party=True)
    sign_in(site)
    submit(site, "/login/factor", method="totp", code=phone.code())
    with site.db() as db:
        db.execute(update(BrowserSession).values(facts=None))
    assert answer_of(authorize(site, ours, prompt="none"))["error"] == "interaction_required"
    answer = authorize(site, ours)
    assert "acr_values=aal2" in answer.location
    assert leads_to(answer) == "/login/verify"
