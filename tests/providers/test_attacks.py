"""Whose account it is, under attack: nothing of a stranger's stays, and nothing is joined silently.

OWASP ASVS 5.0, 6.8; "Pre-hijacked accounts" (Sudhodanan and Paverd, USENIX Security 2022).
"""

import pytest

from tests.providers.people import arrive, come_back, go, identities, send, signed_in_as, users
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.personal import created
from tests.support.site import PASSWORD, bearer
from tests.support.together import together

from .test_new_identity import heading, mailed_link, register

pytestmark = pytest.mark.both_databases  # PostgreSQL refuses texts that are too long
VICTIM = "ann@gmail.com"
OTHER_PASSWORD = "eleven green kites"


def strangers_ways(site, keys, email=VICTIM):
    """What a stranger who knows the password of an account holds of it."""
    sign_in(site, email)
    login = site.login(keys, username=email)
    personal = created(site, login["access_token"], scope="a")
    key = site.http.cookies["authsite"]
    site.http.reset()
    return {"key": key, "login": login, "personal": personal}


def opens_anything(site, keys, held, email=VICTIM):
    """Which of the stranger's ways still open an account."""
    site.http.reset()
    login = submit(site, "/login", username=email, password=PASSWORD)
    ways = {
        "password": login.status_int == 303,
        "token": site.http.get(
            "/v1/user", headers=bearer(held["login"]["access_token"]), status="*"
        ).status_int == 200,
        "refresh": site.token(
            keys, "*", grant_type="refresh_token", refresh_token=held["login"]["refresh_token"]
        ).status_int == 200,
        "personal": site.http.get(
            "/v1/user", headers=bearer(held["personal"]), status="*"
        ).status_int == 200,
    }  # fmt: skip
    site.http.reset()
    site.http.set_cookie("authsite", held["key"])
    ways["session"] = signed_in_as(site) is not None
    site.http.reset()
    return {name for name, opens in ways.items() if opens}


def test_who_registered_the_victims_address_keeps_nothing_when_the_victim_starts_afresh(
    site_of, google
):
    site = site_of(google)
    keys = site.client(scope="a", default_scope="a")
    register(site)
    held = strangers_ways(site, keys)
    assert len(opens_anything(site, keys, held)) >= 4
    held = strangers_ways(site, keys)
    page = arrive(site, google)
    page = next(each for each in page.forms.values() if each.method == "get").submit()
    assert send(page, "/create").status_int == 303
    assert opens_anything(site, keys, held) == set()
    assert len(users(site)) == 1


@pytest.mark.parametrize("confirmed", [True, False])
def test_who_registered_it_keeps_nothing_when_the_victim_proves_the_mailbox(
    site_of, google, providers, confirmed
):
    """With ``confirmed`` the victim had confirmed the registration by one careless press."""
    gitlab = providers("gitlab")
    gitlab.claims["email"] = "stranger@example.com"
    site = site_of(google, gitlab)
    keys = site.client(scope="a", default_scope="a")
    stranger = site.user(VICTIM, confirmed=confirmed)
    with site.db() as db:
        linked = {"provider": "gitlab", "issuer": gitlab.issuer, "subject": gitlab.subject}
        add_identity(db, stranger, **linked)
    held = strangers_ways(site, keys)
    site.mails()
    page = send(arrive(site, google), "/mail").follow()
    assert heading(page) == "Check your e-mail"
    page = site.http.get(mailed_link(site))
    more = {} if confirmed else {"password": OTHER_PASSWORD}
    assert send(page, "/recover", **more).status_int == 303
    assert VICTIM in signed_in_as(site)
    [user] = users(site)
    assert (user.id, user.epoch) == (stranger.id, 1)
    assert user.email_verified_at is not None
    assert [each.provider for each in identities(site)] == ["google"]
    assert opens_anything(site, keys, held) == set()
    assert come_back(site, gitlab).location.startswith("http://localhost/login/with/gitlab/account")
    if not confirmed:
        sign_in(site, VICTIM, OTHER_PASSWORD)


def test_the_mailed_link_of_an_untrusted_address_resets_the_account_without_a_second_mail(
    site_of, providers
):
    gitlab = providers("gitlab")
    site = site_of(gitlab)
    keys = site.client(scope="a", default_scope="a")
    site.user("ann@example.com", confirmed=True)
    held = strangers_ways(site, keys, "ann@example.com")
    site.mails()
    arrive(site, gitlab)
    page = site.http.get(mailed_link(site))
    assert heading(page) == "You have an account already"
    assert send(page, "/recover").status_int == 303
    assert opens_anything(site, keys, held, "ann@example.com") == set()


@pytest.mark.parametrize("path", ["/recover", "/create", "/connect", "/join"])
def test_an_untrusted_address_of_the_victim_opens_nothing_without_the_mailbox(
    site_of, providers, path
):
    gitlab = providers("gitlab")
    site = site_of(gitlab)
    victim = site.user("ann@example.com", confirmed=True)
    page = arrive(site, gitlab)
    form = {name: page.forms[0][name].value for name in ("csrf_token", "key")}
    form |= {"password": PASSWORD, "afresh": "1"}
    answer = site.http.post(f"/login/with/gitlab{path}", form, status=409)
    assert heading(answer) == "Check your e-mail"
    assert identities(site) == []
    assert [(each.id, each.epoch) for each in users(site)] == [(victim.id, 0)]


def test_a_trusted_address_alone_does_not_reset_an_account(site_of, google):
    site = site_of(google)
    site.user(VICTIM, confirmed=True)
    page = arrive(site, google)
    form = {name: page.forms[0][name].value for name in ("csrf_token", "key")}
    site.http.post("/login/with/google/recover", form, status=409)
    assert (identities(site), users(site)[0].epoch) == ([], 0)


def test_a_mailed_link_for_one_address_does_not_prove_another(site_of, providers):
    gitlab = providers("gitlab")
    gitlab.claims["email"] = "attacker@example.com"
    site = site_of(gitlab)
    site.user("ann@example.com", confirmed=True)
    page = arrive(site, gitlab)
    own = mailed_link(site)
    key = page.forms[0]["key"].value
    other = site.http.get(f"/login/with/gitlab/account?key={key}&other=1")
    send(other, "/address", email="ann@example.com")
    page = site.http.get(own)
    assert heading(page) == "Create an account"
    assert "attacker@example.com" in page.text


def test_a_stranger_who_came_first_with_the_victims_untrusted_address_has_made_nothing(
    site_of, providers
):
    gitlab = providers("gitlab")
    site = site_of(gitlab)
    arrive(site, gitlab)
    site.http.reset()
    submit(site, "/register", email="ann@example.com", password=OTHER_PASSWORD)
    assert [user.email for user in users(site)] == ["ann@example.com"]
    assert identities(site) == []


@pytest.mark.both_databases
def test_of_two_browsers_that_press_at_once_one_makes_the_user(site_of, google):
    one, other = site_of(google), site_of(google, empty=False)
    pages = [arrive(site, google) for site in (one, other)]
    answers = together(*(lambda page=page: send(page, "/create") for page in pages))
    statuses = sorted(answer.status_int for answer in answers)
    assert statuses[0] == 303
    assert statuses[1] in (400, 409, 422)
    assert len(users(one)) == len(identities(one)) == 1


@pytest.mark.both_databases
def test_of_two_processes_that_link_one_identity_to_two_accounts_one_succeeds(site_of, providers):
    fake = providers("oidc")
    fake.claims["email"] = None
    one, other = site_of(fake), site_of(fake, empty=False)
    pages = []
    for site, email in ((one, "ann@example.com"), (other, "bo@example.com")):
        site.user(email, confirmed=True)
        send(arrive(site, fake), "/address", email=email)
        [mail] = [each for each in site.mails() if each["To"] == email]
        pages.append(site.http.get(link_in(mail)))
    answers = together(
        *(lambda page=page: send(page, "/connect", password=PASSWORD) for page in pages)
    )
    assert sorted(answer.status_int for answer in answers)[0] == 303
    assert len(identities(one)) == 1


def test_a_return_in_a_browser_that_did_not_begin_signs_no_one_in(site_of, google):
    site = site_of(google)
    send(arrive(site, google), "/create")
    site.http.reset()
    url = google.authorize(go(site, "google"))
    site.http.reset()
    assert site.http.get(url, status=400).html.h1.get_text() == "This began in another browser"
    go(site, "google")  # a browser with a cookie, but another one
    assert site.http.get(url, status=400).html.h1.get_text() == "This began in another browser"
    assert signed_in_as(site) is None
    assert site.events().count("provider.refused") == 2


def test_another_site_cannot_send_a_browser_to_a_provider(site_of, google):
    site = site_of(google)
    site.http.get("/login/with/google")
    answer = site.http.post("/login/with/google", {"next": "/account"}, status="*")
    assert answer.status_int == 403
    page = site.http.get("/login/with/google")
    form = {"csrf_token": csrf_of(page)}
    headers = {"Origin": "https://evil.example"}
    assert site.http.post("/login/with/google", form, headers=headers, status=403)


def add_identity(db, user, **values):
    from authsite.platform.runtime import clock
    from authsite.users.identities import Identity

    row = Identity(
        id=user.id, user_id=user.id, email=None, trusted=False, created_at=clock.now(), **values
    )
    db.add(row)


def test_what_a_provider_tells_is_text_on_the_page(site_of, providers):
    fake = providers("oidc", "corp")
    site = site_of((fake, {"trust-email": "on", "label": 'Co"<b>rp'}), registration_fields="name")
    for path in ("/login", "/register", "/login/with/corp"):
        assert "<b>" not in site.http.get(path).text
    fake.claims.update(name='"><script>alert(1)</script>{{7*7}}', email="new@example.com")
    page = arrive(site, fake)
    assert "<script>alert" not in page.text
    assert page.html.select_one("[name=name]")["value"] == '"><script>alert(1)</script>{{7*7}}'


def test_a_second_cookie_of_the_name_which_another_host_has_set_opens_nothing(site_of, google):
    site = site_of(google)
    url = google.authorize(go(site, google.name))
    own = site.http.cookies["authsite-provider"]
    both = f"authsite-provider={'A' * len(own)}; authsite-provider={own}"
    page = site.http.get(url, headers={"Cookie": both}, status=400)
    assert "another browser" in page.html.title.text
    assert identities(site) == []
