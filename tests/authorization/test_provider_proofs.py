"""`max_age` and `prompt=login` where the user signs in at another provider.

A provider may know the browser, and sign the user in without asking: a new session does not mean a
new proof.
"""

from urllib.parse import parse_qsl, urlsplit

import pytest

from authsite.users.models import User
from tests.authorization.test_provider import back, create_account, to_provider
from tests.providers.people import users
from tests.support.authorizing import (
    BASE,
    OPENID,
    answer_of,
    application,
    authorize,
    follow,
    leads_to,
    redeemed,
    target_of,
)
from tests.support.codes import claims_of
from tests.support.site import PASSWORD, HashedOnce

AGO = 3 * 3600


@pytest.fixture
def corp(providers, site_of, frozen):
    """The provider ``corp``, whose session is of three hours ago, a site, and an application."""
    fake = providers("oidc", "corp")
    site = site_of((fake, {"trust-email": "on"}), **OPENID)
    app = application(site, first_party=True)
    fake.claims["auth_time"] = int(frozen.at.timestamp()) - AGO
    create_account(site, fake, app)
    frozen.advance(10)
    return fake, site, app


def sent(url):
    query = dict(parse_qsl(urlsplit(url).query))
    return {name: query[name] for name in ("prompt", "max_age") if name in query}


def someone_else(site, verify):
    """From the page that asks for a proof to the button of the provider: the URL there."""
    next_ = dict(parse_qsl(urlsplit(target_of(verify)).query))["next"]
    page = site.http.get(f"{BASE}/login/with/corp", {"next": next_})
    form = next(iter(page.forms.values()))
    return form.submit(status=200).html.select_one("a.button.primary")["href"]


def with_a_password(site):
    [user] = users(site)
    with site.db() as db:
        db.get_one(User, user.id).password_hash = HashedOnce(site.cfg).hash(PASSWORD)


def prove(site, verify):
    """Give the password on the page that asks for a proof; what comes after it."""
    page = site.http.get(target_of(verify), status=200)
    form = next(each for each in page.forms.values() if "current_password" in each.fields)
    form["current_password"] = PASSWORD
    return follow(site, form.submit(status="*"))


def test_the_provider_is_asked_for_the_same_proof(corp):
    _fake, site, app = corp
    site.http.reset()
    url = to_provider(site, authorize(site, app, provider="corp"))
    assert sent(url) == {}
    url = to_provider(site, authorize(site, app, provider="corp", max_age="60"))
    assert sent(url) == {"max_age": "60"}
    url = to_provider(site, authorize(site, app, provider="corp", prompt="login"))
    assert sent(url) == {"prompt": "login", "max_age": "0"}
    both = {"prompt": "login", "max_age": "60", "state": "x" * 1500}  # too long for `next`
    url = to_provider(site, authorize(site, app, provider="corp", **both))
    assert sent(url) == {"prompt": "login", "max_age": "60"}


@pytest.mark.parametrize("max_age", ["0", "60"])
@pytest.mark.parametrize("named", [True, False])
def test_an_old_sign_in_does_not_satisfy_max_age_and_leads_to_a_proof_here(corp, max_age, named):
    fake, site, app = corp
    with_a_password(site)
    asked = {"max_age": max_age} | ({"provider": "corp"} if named else {})
    answer = authorize(site, app, **asked)
    if named:
        url = to_provider(site, answer)
    else:
        assert leads_to(answer) == "/login/verify"
        url = someone_else(site, answer)
    returned = site.http.get(fake.authorize(url), status=303)
    answer = site.http.get(returned.location, status="*")
    assert leads_to(answer) == "/login/verify"  # not to the provider again
    done = prove(site, answer)
    claims = claims_of(redeemed(site, app, answer_of(done)["code"])["id_token"])
    assert claims["auth_time"] == claims["iat"]


@pytest.mark.parametrize(("off", "is_enough"), [(0, True), (-50, True), (-70, False), (50, True)])
def test_the_time_that_the_provider_tells_decides(corp, frozen, off, is_enough):
    fake, site, app = corp
    url = to_provider(site, authorize(site, app, provider="corp", max_age="0"))
    fake.claims["auth_time"] = int(frozen.at.timestamp()) + off
    answer = back(site, fake, url)
    if is_enough:
        assert answer_of(answer)["code"]
    else:
        assert answer.request.path == "/login/verify"


@pytest.mark.parametrize("told", [None, 70], ids=["none", "far ahead"])
def test_a_time_that_is_not_told_or_far_ahead_is_none(corp, frozen, told):
    fake, site, app = corp
    url = to_provider(site, authorize(site, app, provider="corp", max_age="10000"))
    fake.claims["auth_time"] = told and int(frozen.at.timestamp()) + told
    assert back(site, fake, url).request.path == "/login/verify"


def test_prompt_login_is_satisfied_by_a_sign_in_for_which_it_was_sent(corp):
    fake, site, app = corp
    url = to_provider(site, authorize(site, app, provider="corp", prompt="login"))
    assert answer_of(back(site, fake, url))["code"]


def test_prompt_login_is_not_satisfied_by_a_sign_in_for_which_it_was_not_sent(corp, frozen):
    fake, site, app = corp
    with_a_password(site)
    answer = authorize(site, app, prompt="login")
    target = dict(parse_qsl(urlsplit(target_of(answer)).query))["next"]
    frozen.advance(1)
    page = site.http.get(f"{BASE}/login/with/corp")  # without the way to the application
    url = next(iter(page.forms.values())).submit().html.select_one("a.button.primary")["href"]
    assert sent(url) == {}
    site.http.get(fake.authorize(url), status=303)
    answer = site.http.get(BASE + target, status="*")
    assert leads_to(answer) == "/login/verify"
    assert answer_of(prove(site, answer))["code"]


def test_both_need_the_time_of_the_provider(corp):
    fake, site, app = corp
    url = to_provider(site, authorize(site, app, provider="corp", prompt="login", max_age="60"))
    assert back(site, fake, url).request.path == "/login/verify"


def test_without_a_page_an_old_sign_in_is_refused(corp):
    _fake, site, app = corp
    answer = authorize(site, app, max_age="60", prompt="none")
    assert answer_of(answer)["error"] == "login_required"
