"""``registration = domains``: who may register, change the address, and use the account."""

import pytest

from authsite.platform.settings import SettingsError, load
from authsite.users.models import User
from tests.support.mails import link_in
from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD, SECRET, bearer

ONLY = {"registration": "domains", "registration-domains": "Corp.Example\nBÜCHER.example"}
GOOD = {"email": "bo@corp.example", "password": "purple wolf 77 tea"}
VARIANTS = [{}, {"prevent-enumeration": "true"}, {"variant": "B"}]
NAMED = "corp.example, bücher.example"


@pytest.fixture
def site(site_with):
    return site_with(**ONLY)


def register(site, status=201, **fields):
    return site.http.post_json("/v1/register", GOOD | fields, status=status)


def errors(answer):
    return [(each["field"], each["code"]) for each in answer.json["errors"]]


def confirm_from_mail(site, address):
    [mail] = [mail for mail in site.mails() if mail["To"] == address]
    page = site.http.get(link_in(mail))
    form = {"csrf_token": csrf_of(page), "url": page.forms[0]["url"].value}
    site.http.post("/email/verify", form, status=200)


@pytest.mark.parametrize("more", VARIANTS, ids=str)
def test_an_address_of_another_domain_is_refused_and_the_domains_are_named(site_with, more):
    site = site_with(**ONLY, **more)
    for address in (
        "bo@example.com",
        "bo@sub.corp.example",
        "bo@xcorp.example",
        "corp.example@example.com",
        "bo@corp.example.com",
    ):
        answer = register(site, 422, email=address)
        assert errors(answer) == [("email", "not_allowed")]
        assert NAMED in answer.json["errors"][0]["message"]
    with site.db() as db:
        assert db.query(User).count() == 0


@pytest.mark.parametrize(
    "address", ["bo@CORP.example", "bo@bücher.example", "bo@xn--bcher-kva.EXAMPLE"]
)
def test_every_spelling_of_an_allowed_domain_may_register(site, address):
    assert register(site, email=address).json["confirmed"] is False


def test_with_prevent_enumeration_a_free_address_of_the_domain_gets_its_link(site_with):
    site = site_with(**ONLY, prevent_enumeration="true")
    register(site, 202)
    confirm_from_mail(site, "bo@corp.example")
    site.login(site.client(), "bo@corp.example", GOOD["password"])


@pytest.mark.parametrize("more", [{}, {"variant": "B"}], ids=str)
def test_an_account_may_do_nothing_until_it_is_confirmed_in_both_variants(site_with, more):
    site = site_with(**ONLY, **more)
    client = site.client()
    user = site.user("ann@corp.example", confirmed=True)
    tokens = site.login(client, "ann@corp.example")
    with site.db() as db:
        db.get(User, user.id).email_verified_at = None
        db.commit()
    not_confirmed = [(None, "email_not_confirmed")]
    form = {"grant_type": "password", "username": "ann@corp.example", "password": PASSWORD}
    refused = site.token(client, 400, **form)
    assert (refused.json["error"], errors(refused)) == ("invalid_grant", not_confirmed)
    again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refused = site.token(client, 400, **again)
    assert (refused.json["error"], errors(refused)) == ("invalid_grant", not_confirmed)
    assert errors(site.me(tokens["access_token"], 403)) == not_confirmed
    page = submit(site, "/login", username="ann@corp.example", password=PASSWORD)
    assert (page.status_int, "/email/link" in page.text) == (422, True)

    own = {"headers": bearer(tokens["access_token"])}
    site.http.post_json("/v1/email/verification-notification", {}, status=202, **own)
    site.logout(tokens["access_token"])


def test_the_link_of_the_registration_opens_the_account(site):
    register(site)
    site.login(site.client(), "bo@corp.example", GOOD["password"], 400)
    confirm_from_mail(site, "bo@corp.example")
    site.login(site.client(), "bo@corp.example", GOOD["password"])


def test_the_link_can_be_requested_without_a_token(site):
    register(site)
    site.mails()
    body = {"email": "bo@corp.example"}
    site.http.post_json("/v1/email/verification-notification", body, status=202)
    confirm_from_mail(site, "bo@corp.example")


@pytest.mark.parametrize("more", VARIANTS, ids=str)
def test_an_address_is_changed_to_one_of_the_domains_only(site_with, more):
    site = site_with(**ONLY, **more)
    site.user("ann@corp.example", confirmed=True)
    token = site.login(site.client(), "ann@corp.example")["access_token"]

    def change(email, status, password=PASSWORD):
        body = {"email": email, "current_password": password}
        headers = bearer(token)
        return site.http.put_json("/v1/user/email", body, headers=headers, status=status)

    refused = change("ann@example.com", 422)
    assert errors(refused) == [("email", "not_allowed")]
    assert NAMED in refused.json["errors"][0]["message"]
    assert errors(change("ann@example.com", 422, "wrong")) == [
        ("current_password", "invalid_password"),
        ("email", "not_allowed"),
    ]
    change("ann@bücher.example", 202)


def test_the_pages_say_which_addresses_may_register_and_refuse_the_others(site):
    assert NAMED in site.http.get("/register").text
    refused = submit(site, "/register", **GOOD | {"email": "bo@example.com"})
    assert refused.status_int == 422
    assert refused.text.count('aria-invalid="true"') == 1

    site.user("ann@corp.example", confirmed=True)
    sign_in(site, "ann@corp.example")
    page = site.http.get("/account")
    assert NAMED in page.text
    form = {"email": "ann@example.com", "current_password": PASSWORD}
    refused = submit(site, "/account/email", page="/account", **form)
    assert refused.status_int == 422
    assert refused.text.count('aria-invalid="true"') == 1


def test_where_everyone_may_register_the_pages_name_no_domains(site_with):
    site = site_with()
    assert "corp.example" not in site.http.get("/register").text


def test_a_command_may_create_a_user_of_any_domain(site):
    """`tests.support.site.Site.user` is what ``authsite user create`` calls."""
    assert site.user("ann@example.com").email == "ann@example.com"


def test_those_of_other_domains_go_on(site):
    site.user("ann@example.com", confirmed=True)
    site.me(site.login(site.client())["access_token"])


@pytest.mark.parametrize(("more", "named"), [(ONLY, True), ({}, False)])
def test_the_document_has_the_refusal_where_it_can_occur(site_with, more, named):
    document = site_with(**more).http.get("/v1/openapi.json").text
    assert ("corp.example, bücher.example" in document) == named


def test_domains_are_required_with_domains():
    with pytest.raises(SettingsError, match=r"registration-domains.*corp\.example"):
        load({"authsite.secret": SECRET, "authsite.registration": "domains"}, {})


@pytest.mark.parametrize("text", ["@corp.example", "*.corp.example", "corp", "corp.example,b.test"])
def test_a_domain_is_whole_and_stands_alone(text):
    given = {"authsite.secret": SECRET, "authsite.registration-domains": text}
    with pytest.raises(SettingsError, match="give whole domains"):
        load(given, {})
