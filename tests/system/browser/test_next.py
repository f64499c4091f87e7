"""Where a login leads on to, in Chromium: to another origin, and back to a form."""

import re
from urllib.parse import urlencode

import pytest

from tests.system.browser.people import EMAIL, PASSWORD, Person, pages_server
from tests.system.browser.web import other_site

SECOND = "green otter 31 rye"


@pytest.fixture(scope="module")
def others():
    """Origins of an application of ours elsewhere: another port, and another host."""
    with other_site("127.0.0.1", "app.example.test") as origins:
        yield origins


@pytest.fixture(scope="module")
def server(tmp_path_factory, others):
    with pages_server(tmp_path_factory.mktemp("next"), return_origins=" ".join(others)) as served:
        yield served


@pytest.fixture(scope="module")
def ann_exists(server, chromium):
    context = chromium.new_context()
    register(Person(context, *server))
    context.close()


def register(person):
    person.go("/register")
    person.fill(email=EMAIL, password=PASSWORD)
    person.press("Create account")
    person.sees("Check your e-mail")


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def ann(request, new_context, server, others, ann_exists):
    return Person(new_context(java_script_enabled=request.param), *server, *others)


def landed(person, url):
    person.page.wait_for_url(url)
    assert person.page.title() == "landed"


@pytest.mark.parametrize("number", [0, 1], ids=["another port", "another host"])
def test_a_login_leads_on_to_a_listed_origin(ann, others, number):
    """trial 3: Chromium applies form-action to a redirect that answers the form."""
    target = f"{others[number]}/landing?a=b&c=d#e"
    ann.page.goto(f"{ann.origin}/login?{_next(target)}")
    ann.fill(username=EMAIL, password=PASSWORD)
    ann.press("Sign in")
    landed(ann, target)
    ann.go("/account")
    ann.sees(EMAIL)
    ann.page.goto(f"{ann.origin}/login?{_next(target)}")  # signed in already
    landed(ann, target)
    assert ann.troubles == []


def javascript(person):
    """Whether pages may run scripts (a test's own may always)."""
    return person.page.locator(".can-show").count() > 0


def _next(target):
    return urlencode({"next": target})


def test_a_form_that_is_sent_after_its_session_ended(ann):
    ann.sign_in()
    ann.at("/account")
    ann.page.context.clear_cookies(name="authsite")
    ann.change("Profile")
    ann.fill(name="Ann Lee")
    ann.press("Save")
    ann.at("/login")
    ann.sees("Your session ended. Sign in to continue. Your changes were not saved.")
    ann.fill(username=EMAIL, password=PASSWORD)
    ann.press("Sign in")
    ann.at("/account")
    ann.sees(EMAIL)
    assert ann.troubles == []


def test_after_a_mistake_the_address_can_be_entered_again(ann):
    ann.sign_in()
    ann.at("/account")
    ann.follow("Security")
    ann.change("Password")
    form = ann.page.locator("form[action$='/account/password']")
    form.locator("[name=current_password]").fill("wrong wrong wrong 1")
    form.locator("[name=password]").fill(SECOND)
    ann.press("Change password")
    ann.at("/account/password")
    ann.go("/account/password")
    ann.page.wait_for_url(re.compile(r"/account/security#password$"))
    if javascript(ann):
        form.wait_for(state="visible")  # it is unfolded
    assert ann.troubles == []


VARIANTS = {"A": {}, "B": {"variant": "B", "require_email_confirmation": "true"}}


@pytest.fixture(scope="module")
def variant(request, tmp_path_factory, others):
    settings = {**VARIANTS[request.param], "return_origins": " ".join(others)}
    with pages_server(tmp_path_factory.mktemp("carried"), **settings) as served:
        yield served


@pytest.mark.parametrize(
    ("variant", "javascript"), [("A", False), ("B", True)], indirect=["variant"]
)
def test_registering_and_a_reset_lead_on_to_the_page(variant, new_context, others, javascript):
    bo = Person(new_context(java_script_enabled=javascript), *variant, *others)
    email = f"bo-{javascript}@example.com"
    bo.go("/account?a=b")
    bo.at("/login")
    bo.follow("Create an account")
    bo.fill(email=email, password=PASSWORD)
    bo.press("Create account")
    bo.sees("Check your e-mail")
    bo.page.goto(bo.link())
    bo.press("Confirm address")  # the browser that registered is signed in
    bo.page.wait_for_url(f"{bo.origin}/account?a=b")

    bo.page.context.clear_cookies(name="authsite")
    target = f"{others[1]}/reports?c=d&e=f"
    bo.page.goto(f"{bo.origin}/login?{_next(target)}")
    bo.follow("Forgot your password?")
    bo.fill(email=email)
    bo.press("Send the link")
    bo.sees("Check your e-mail")
    bo.page.goto(bo.link())
    bo.fill(password=SECOND)
    bo.press("Change password")
    bo.sees("Your password has been changed")
    bo.follow("Sign in")
    bo.fill(username=email, password=SECOND)
    bo.press("Sign in")
    landed(bo, target)
    assert bo.troubles == []


def test_a_form_whose_login_page_is_elsewhere_leads_there(tmp_path, new_context):
    """The class of pages B1: a guard that answers a form with a redirect to another origin."""
    with (
        other_site("sso.example.test") as [sso],
        pages_server(tmp_path, login_page_url=f"{sso}/in") as (origin, box),
    ):
        ann = Person(new_context(), origin, box, sso)
        register(ann)
        ann.sign_in()
        ann.at("/account")
        ann.page.context.clear_cookies(name="authsite")
        ann.change("Profile")
        ann.press("Save")
        ann.page.wait_for_url(re.compile(re.escape(sso)))
        assert ann.page.title() == "landed"
        assert ann.troubles == []
