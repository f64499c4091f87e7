"""Asking for a reset link: one answer for every address, one mailbox, listed pages only."""

from urllib.parse import parse_qs, urlsplit

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.users import service as users
from tests.support.acting import acting
from tests.support.mails import html_of, link_in, rows, text_of
from tests.support.pages import submit
from tests.support.site import PASSWORD

pytestmark = pytest.mark.both_databases

FORGOT = "/v1/password/forgot"
PAGE = "https://app.example.org/new-password?from=mail"
HEADERS = {"Content-Type", "MIME-Version", "From", "To", "Subject", "Date", "Message-ID",
           "Auto-Submitted"}  # fmt: skip
NEW = "a purple wolf at tea 77"


@pytest.fixture
def asking(site_with):
    return site_with(allowed_reset_password_urls=f"https://other.example.org/reset {PAGE}")


def forgot(site, email="ann@example.com", status=202, url=PAGE, **more):
    body = {"email": email, "reset_url": url, **more}
    body = {name: value for name, value in body.items() if value is not None}
    return site.http.post_json(FORGOT, body, status=status)


def errors_of(answer):
    return [(each["code"], each["field"]) for each in answer.json["errors"]]


def test_the_mailed_link_leads_to_the_page_and_its_values_reset_the_password(asking):
    asking.user("Ann.O'Hara+x@Example.com")
    forgot(asking, "ann.o'hara+X@example.com")
    [mail] = asking.mails()
    link = link_in(mail)
    assert link.startswith(f"{PAGE}&email=")
    assert link.replace("&", "&amp;") in html_of(mail)
    values = {name: value for name, [value] in parse_qs(urlsplit(link).query).items()}
    assert values["email"] == "Ann.O'Hara+x@example.com"
    asking.http.post_json("/v1/password/reset", {**values, "password": NEW}, status=200)
    asking.login(asking.client(), "ann.o'hara+x@example.com", NEW)


@pytest.mark.parametrize("kind", ["json", "form"])
def test_reseturl_is_another_spelling_of_the_field(asking, kind):
    asking.user()
    post = asking.http.post_json if kind == "json" else asking.http.post
    body = {"email": "ann@example.com", "reseturl": PAGE}
    post(FORGOT, body, status=202)
    assert len(asking.mails()) == 1
    assert errors_of(post(FORGOT, {**body, "reseturl": f"{PAGE}x"}, status=422)) == [
        ("not_allowed", "reset_url")
    ]


def test_the_page_must_be_named(asking):
    asking.user()
    assert errors_of(forgot(asking, url=None, status=422)) == [("required", "reset_url")]
    assert asking.mails() == []


MUTATIONS = [
    PAGE + "/", PAGE + "&x=1", PAGE + "&", PAGE + "#", PAGE + "#x", PAGE + "%00", PAGE + " ",
    " " + PAGE, PAGE + "\t", PAGE[:-1], PAGE.partition("?")[0], PAGE.upper(),
    PAGE.replace("https", "http"), PAGE.replace("https", "HTTPS"), PAGE.replace("app", "APP"),
    PAGE.replace(".org", ".org:443"), PAGE.replace(".org", ".org."),
    PAGE.replace("app.", "evil.app."), PAGE.replace("//", "//user@"),
    PAGE.replace("//", "//app.example.org@evil.example/"), PAGE.replace("/new", "\\new"),
    PAGE.replace("/new", "//new"), PAGE.replace("/new", "/x/../new"), PAGE.replace("new", "%6eew"),
    PAGE.replace("?", "?x=1&"), PAGE.replace("?", "??"), PAGE.replace("app", "\uff41pp"),
    "//app.example.org/new-password?from=mail", "/new-password?from=mail", "javascript:alert(1)",
    "https://evil.example/new-password?from=mail", f"https://other.example.org/reset {PAGE}",
    "https://other.example.org/resetx", "http://localhost/password/reset", "null", "*",
]  # fmt: skip


@pytest.mark.control("F01")
@pytest.mark.parametrize("field", ["reset_url", "reseturl"])
@pytest.mark.parametrize("url", MUTATIONS)
def test_a_page_that_does_not_equal_a_listed_one_is_an_error_and_nothing_is_sent(
    asking, url, field
):
    asking.user()
    answer = asking.http.post_json(FORGOT, {"email": "ann@example.com", field: url}, status=422)
    assert errors_of(answer) == [("not_allowed", "reset_url")]
    assert rows(asking) == []


@pytest.mark.control("L02")
def test_the_answer_is_the_same_to_the_byte_for_every_address(site_with):
    site = site_with(
        allowed_reset_password_urls=PAGE, limits="on", limits_forgot_email="2/hour",
        limits_forgot_address="900/hour",
    )  # fmt: skip
    site.user()
    site.user("sure@example.com", confirmed=True)
    site.user("off@example.com")
    with site.db() as db:
        users.disable(acting(db), users.find(db, "off@example.com"))
    emails = ["ann@example.com"] * 4 + ["sure@example.com", "off@example.com", "no@example.com",
             "no address", "a@b.c,d@e.f", "x" * 254]  # fmt: skip
    seen = set()
    for email in emails:
        answer = forgot(site, email)
        headers = {name: value for name, value in answer.headerlist if name != "X-Request-Id"}
        seen.add((answer.status, answer.body, tuple(sorted(headers.items()))))
    assert len(seen) == 1
    # The work is the same too: a row each, for known and unknown addresses, and an audit row each.
    assert len(rows(site)) == len(emails)
    assert site.events().count("recovery.requested") == len(emails)
    assert sorted(mail["To"] for mail in site.mails()) == ["ann@example.com"] * 2 + [
        "sure@example.com"
    ]


@pytest.mark.control("L02")
def test_the_answer_of_the_page_is_the_same_for_every_address(site):
    site.user()
    seen = set()
    for email in ("ann@example.com", "no@example.com", "off@example.com"):
        answer = submit(site, "/password/forgot", email=email)
        seen.add((answer.status, answer.body, answer.location))
    assert len(seen) == 1
    assert [mail["To"] for mail in site.mails()] == ["ann@example.com"]


HOSTILE = [
    "ann@example.com\r\nBcc: eve@evil.example", "ann@example.com,eve@evil.example",
    "ann@example.com;eve@evil.example", "ann@example.com eve@evil.example", "ann＠example.com",
    "mi\u212ae@example.com", "m\u0131ke@example.com", "mike@example.com\0", "mike@ex\u0430mple.com",
    "Mike <mike@example.com>", '"mike@example.com"@evil.example', "mike@example.com@evil.example",
    "<a href=//evil>@example.com", "mike@example.com%00@evil.example", "mike(x)@example.com",
    "mike@example.com.", "mike@\u24d4xample.com", "mike+x@example.com", "%40", "%",
]  # fmt: skip


@pytest.mark.both_databases
@pytest.mark.control("U02")
@pytest.mark.parametrize("email", HOSTILE)
def test_a_look_alike_reaches_no_mailbox_but_the_stored_one(asking, email):
    asking.user()
    asking.user("mike@example.com")
    answer = asking.http.post_json(FORGOT, {"email": email, "reset_url": PAGE}, status="*")
    assert answer.status_int in (202, 422)
    assert {mail["To"] for mail in asking.mails()} <= {"mike@example.com"}
    assert all(
        row.address in ("mike@example.com", "nobody@example.invalid") for row in rows(asking)
    )


@pytest.mark.control("U02")
def test_the_mail_goes_to_the_stored_spelling_and_not_to_the_one_that_was_sent(asking):
    asking.user("Mike@example.com")
    forgot(asking, "mIKE@EXAMPLE.com")
    [mail] = asking.mails()
    assert mail["To"] == "Mike@example.com"


@pytest.mark.control("M03")
@pytest.mark.parametrize(
    "name", ['"><a href=//evil.example>click</a>', "Win at https://evil.example now", "A" * 1024,
             "evil.example", "\u202eelpmaxe.live"],
)  # fmt: skip
def test_a_hostile_name_reaches_no_header_and_no_link(asking, name):
    body = {"email": "bo@example.com", "password": PASSWORD, "name": name}
    registered = asking.http.post_json("/v1/register", body, status="*")
    assert registered.status_int in (201, 422)
    forgot(asking, "bo@example.com")
    for mail in asking.mails():
        assert set(mail.keys()) == HEADERS
        assert "evil" not in mail.as_string() + text_of(mail) + html_of(mail)
        assert "A" * 200 not in text_of(mail)
        assert mail["To"] == "bo@example.com"


@pytest.mark.control("M03")
@pytest.mark.parametrize("name", ["Bo\r\nBcc: eve@evil.example", "Bo\nX: y", "Bo\x00", "Bo\u2028x"])
def test_a_name_with_line_ends_is_refused(asking, name):
    body = {"email": "bo@example.com", "password": PASSWORD, "name": name}
    asking.http.post_json("/v1/register", body, status=422)


def test_an_unknown_address_is_on_record_without_its_name(asking):
    forgot(asking, "secret.person@example.com")
    with asking.db() as db:
        [event] = db.query(AuditEvent)
    assert event.user_id is None
    assert "secret.person" not in str(event.details)


def test_a_mail_whose_user_was_disabled_meanwhile_is_not_sent(asking):
    asking.user()
    forgot(asking)
    with asking.db() as db:
        users.disable(acting(db), users.find(db, "ann@example.com"))
    assert asking.mails() == []
