"""Another address: both mailboxes hear of it, and only the newest link counts."""

from functools import partial

import pytest

from authsite.users.models import LoginName, User
from tests.support.mails import link_in, rows, signed_url, text_of
from tests.support.site import PASSWORD, bearer
from tests.support.together import together

PAGE = "http://localhost/email/verify"
NEW = "anna@example.org"


@pytest.fixture
def token(site):
    return token_on(site)


def token_on(site):
    site.user(confirmed=True)
    return site.login(site.client())["access_token"]


def change(site, token, email=NEW, status=202, **fields):
    body = {"email": email, "current_password": PASSWORD, "verification_url": PAGE, **fields}
    body = {name: value for name, value in body.items() if value is not None}
    return site.http.put_json("/v1/user/email", body, headers=bearer(token), status=status)


def complete(site, path, token, status=200):
    """Use the link of a change, with a token of the user who asked for it."""
    return site.http.get(path, headers=bearer(token), status=status)


def errors_of(answer):
    return [(each["code"], each["field"]) for each in answer.json["errors"]]


def paths_to(site, address):
    """The signed URLs in the mails to ``address`` since the last look, as paths and queries."""
    mails = [mail for mail in site.mails() if mail["To"] == address]
    return [path_in(site, mail) for mail in mails if "/email/verify/" in text_of(mail)]


def path_in(site, mail):
    return signed_url(site, mail).removeprefix("http://localhost")


def ann(site):
    with site.db() as db:
        return db.query(User).where(User.email.in_(["ann@example.com", NEW])).one()


def test_the_new_address_counts_once_its_link_was_used_and_the_old_one_is_notified(site, token):
    assert "way" in change(site, token).json["message"]
    mails = {mail["To"]: mail for mail in site.mails()}
    assert set(mails) == {NEW, "ann@example.com"}
    assert link_in(mails[NEW]).startswith(f"{PAGE}/")
    assert NEW not in mails["ann@example.com"].as_string()
    assert "a new e-mail address was entered" in " ".join(text_of(mails["ann@example.com"]).split())
    user = site.me(token).json
    assert (user["email"], user["confirmed"]) == ("ann@example.com", True)
    site.login(site.client(), NEW, status=400)

    complete(site, path_in(site, mails[NEW]), token)
    user = site.me(site.login(site.client(), NEW)["access_token"]).json
    assert (user["email"], user["confirmed"]) == (NEW, True)
    site.login(site.client(), "ann@example.com", status=400)


def test_the_link_used_again_is_200_and_one_event(site, token):
    change(site, token)
    [path] = paths_to(site, NEW)
    complete(site, path, token)
    site.http.get(path, status=200)
    assert site.events().count("email.changed") == 1


def test_an_unconfirmed_user_who_proves_the_new_address_is_confirmed(site):
    site.user()
    token = site.login(site.client())["access_token"]
    change(site, token)
    [path] = paths_to(site, NEW)
    complete(site, path, token)
    assert ann(site).email_verified_at is not None


def test_a_wrong_current_password_changes_and_sends_nothing(site, token):
    answer = change(site, token, status=422, current_password="not this one")
    assert errors_of(answer) == [("invalid_password", "current_password")]
    assert errors_of(change(site, token, status=422, current_password=None)) == [
        ("required", "current_password")
    ]
    assert rows(site) == []
    assert ann(site).pending_email is None


def test_without_a_token_or_for_a_machine_nothing_changes(site, token):
    site.http.put_json("/v1/user/email", {"email": NEW, "current_password": PASSWORD}, status=401)
    machine = site.token(site.client("personal"), grant_type="client_credentials").json
    answer = change(site, machine["access_token"], status=403)
    assert errors_of(answer) == [("user_required", None)]
    assert rows(site) == []


@pytest.mark.control("F01")
@pytest.mark.parametrize("url", [PAGE + "/", PAGE + "?x=1", "http://evil.example/", PAGE.upper()])
def test_a_page_that_is_not_listed_is_refused(site, token, url):
    answer = change(site, token, status=422, verification_url=url)
    assert errors_of(answer) == [("not_allowed", "verification_url")]
    assert rows(site) == []


def test_without_a_page_the_first_listed_one_is_meant(site, token):
    change(site, token, verification_url=None)
    assert len(paths_to(site, NEW)) == 1


@pytest.mark.control("U02")
@pytest.mark.parametrize(
    "email",
    ["", "x", "a@b.c,d@e.f", "ann@example.com\r\nBcc: eve@evil.example", "＠", "ann＠example.com",
     "m\u0131ke@example.com", "mi\u212ae@example.com", '"<a href=//evil>"@example.com',
     "Ann <ann@example.com>", "a@example.com b@example.com", "a" * 250 + "@example.com"],
)  # fmt: skip
def test_an_address_that_is_not_one_plain_address_is_refused(site, token, email):
    answer = change(site, token, email, status=422)
    assert [field for _, field in errors_of(answer)] == ["email"]
    assert rows(site) == []


def test_a_taken_address_is_an_error_and_no_mail_is_sent(site, token):
    site.user("bo@example.com")
    assert errors_of(change(site, token, "Bo@Example.com", status=422)) == [("taken", "email")]
    assert rows(site) == []


@pytest.mark.control("L04")
def test_with_prevent_enumeration_a_taken_address_looks_like_a_free_one(site_with):
    site = site_with(prevent_enumeration="true")
    token = token_on(site)
    site.user("bo@example.com")
    free = change(site, token)
    to_ann = [mail for mail in site.mails() if mail["To"] == "ann@example.com"]
    free_pending = ann(site).pending_email
    taken = change(site, token, "bo@example.com")
    mails = site.mails()
    assert taken.body == free.body
    assert sorted(taken.headers) == sorted(free.headers)
    assert (free_pending, ann(site).pending_email) == (NEW, "bo@example.com")
    # The one who asks reads the old mailbox: it hears the same both times.
    again = [mail for mail in mails if mail["To"] == "ann@example.com"]
    assert [mail["Subject"] for mail in again] == [mail["Subject"] for mail in to_ann]
    [owner] = [mail for mail in mails if mail["To"] == "bo@example.com"]
    assert "already have an account" in owner["Subject"]
    assert "/v1/email/verify" not in owner.as_string()


def test_an_address_that_another_user_took_meanwhile_stays_theirs(site, token):
    change(site, token)
    [path] = paths_to(site, NEW)
    site.user(NEW)
    assert errors_of(complete(site, path, token, 422)) == [("taken", "email")]
    with site.db() as db:
        assert db.get(LoginName, "ann@example.com") is not None
    assert site.me(token).json["email"] == "ann@example.com"


@pytest.mark.control("F06")
def test_the_links_of_earlier_wishes_are_dead(site, token):
    change(site, token, "first@example.org")
    [first] = paths_to(site, "first@example.org")
    change(site, token)
    [second] = paths_to(site, NEW)
    assert errors_of(site.http.get(first, status=403)) == [("invalid_signature", None)]
    assert site.me(token).json["email"] == "ann@example.com"
    complete(site, second, token)
    site.http.get(first, status=403)
    assert ann(site).email == NEW


@pytest.mark.control("F06")
def test_a_link_to_the_old_address_confirms_nothing_after_the_change(site):
    site.user()
    token = site.login(site.client())["access_token"]
    body = {"verification_url": PAGE}
    path = "/v1/email/verification-notification"
    site.http.post_json(path, body, headers=bearer(token), status=202)
    [old] = paths_to(site, "ann@example.com")
    change(site, token)
    [new] = paths_to(site, NEW)
    complete(site, new, token)
    assert errors_of(site.http.get(old, status=403)) == [("invalid_signature", None)]
    assert ann(site).email == NEW


@pytest.mark.control("F06")
def test_of_two_changes_at_once_no_link_of_one_proves_the_other_address(site):
    """Eve asks for her own address and a victim's at once; she reads only her own mailbox."""
    site.user(confirmed=True)
    for number in range(5):
        mine, theirs = f"eve{number}@example.org", "victim@example.org"
        token = signed_in_again(site)
        change(site, token, mine)
        hers = paths_to(site, mine)
        together(partial(change, site, token, mine), partial(change, site, token, theirs))
        for path in hers + paths_to(site, mine):
            complete(site, path, token, "*")
        assert proved(site) <= {"ann@example.com", *(f"eve{n}@example.org" for n in range(5))}


@pytest.mark.control("F06")
def test_a_link_used_while_a_change_is_pending_confirms_its_own_address_only(site):
    site.user(confirmed=True)
    for number in range(5):
        mine, theirs = f"eve{number}@example.org", "victim@example.org"
        token = signed_in_again(site)
        change(site, token, mine)
        [path] = paths_to(site, mine)
        request_again = partial(
            change, site, token, theirs, status="*"
        )  # 401 if the link came first
        together(partial(complete, site, path, token, "*"), request_again)
        complete(site, path, token, "*")
        assert proved(site) <= {"ann@example.com", *(f"eve{n}@example.org" for n in range(5))}


def signed_in_again(site):
    """A token of the one user: a completed change of address has ended the one before."""
    with site.db() as db:
        address = db.query(User).one().email
    return site.login(site.client(), address)["access_token"]


def proved(site):
    """Every address that is a login name, or that a user has."""
    with site.db() as db:
        return {name.key for name in db.query(LoginName)} | {user.email for user in db.query(User)}


@pytest.mark.control("L04")
def test_few_changes_to_taken_addresses_may_be_tried(site_with):
    site = site_with(limits="on", **{"limits.login-names": "3/hour"})
    token = token_on(site)
    for number in range(4):
        site.user(f"bo{number}@example.com")
    answers = [change(site, token, f"bo{number}@example.com", status="*") for number in range(4)]
    assert [answer.status_int for answer in answers] == [422, 422, 422, 429]
    change(site, token)  # what reveals nothing is still possible
