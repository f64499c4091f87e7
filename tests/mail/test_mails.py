"""The mails themselves: what their reader gets, in every language and both parts."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.header import decode_header
from email.utils import parseaddr

import pytest
from bs4 import BeautifulSoup

from authsite.platform.mail.leases import ClaimedMail
from authsite.platform.mail.message import MAIL_BUILDERS, TEMPLATES, MailContent, compose, render
from authsite.platform.runtime.catalogs import LANGUAGES
from authsite.platform.settings import load
from authsite.platform.settings.values import Mailbox
from tests.support.mails import html_of, link_in, put, text_of
from tests.support.site import SECRET

NOW = datetime(2026, 11, 20, 18, 4, tzinfo=UTC)
LINK = "https://app.example.org/verify?url=https%3A%2F%2Fx%2F" + "a" * 300 + "&b=1"
MAILS = (
    "verification", "confirm", "confirm_change", "reset", "password_changed", "email_changed",
    "welcome",
    "already_registered", "token_created", "email_replaced",
    "new_device", "app_signed_out", "failed_logins", "admin_granted", "admin_revoked",
    "provider_link", "provider_afresh", "identity_linked", "identity_new", "identity_unlinked",
    "factor_added", "factor_removed", "passkey_added", "passkey_removed", "recovery_codes_created",
    "passkey_asked", "passkey_not_asked",
    "recovery_code_used", "recovery_codes_ended", "passkey_cloned", "factors_reset",
    "password_known",
    "sign_in_code", "first_sign_in_code", "change_code", "invitation",
    "account_disabled", "account_enabled", "account_deletion", "account_erased",
    "address_confirmed", "factor_taken", "groups_changed", "login_names_changed",
    "sign_ins_ended", "tokens_revoked",
)  # fmt: skip
AGENT = "Mozilla/5.0 (Windows NT 10.0; rv:128.0) Gecko/20100101 Firefox/128.0"
TRICKS = '"><script>alert(1)</script>\r\nBcc: eve@evil.example'


def mail(kind, **how):
    return message_from_bytes(raw_mail(kind, **how), policy=policy.default)


def raw_mail(kind, *, link=LINK, name="Ann Lee", language="en", base="https://a.org", other=None,
             stored=None, **settings):  # fmt: skip
    cfg = load({"authsite.secret": SECRET, **{f"authsite.{k}": v for k, v in settings.items()}}, {})
    row = ClaimedMail(
        id=uuid.UUID(int=7), kind=kind, user_id=None, address="o'hara+x@example.com",
        page_url=None, base_url=base, language=language, expires_at=NOW + timedelta(hours=1),
        created_at=NOW, give_up_at=NOW, lease_until=NOW,
        from_address="2001:db8::7", from_agent=AGENT,
    )  # fmt: skip
    content = MailContent(
        kind, link, name, name, other, "b…@example.org", device=("Firefox", "Windows"),
        language=stored,
    )  # fmt: skip
    rendered = render(content, row, cfg, NOW)
    return compose(row, rendered, cfg, NOW).message.as_bytes()


def words(html):
    return " ".join(BeautifulSoup(html, "html.parser").body.get_text(" ").split())


def test_every_template_is_a_mail_of_this_test_and_every_mail_is_registered(site):
    shared = {"layout", "pieces", "footer", "facts", "factor_change"}
    files = {path.stem for path in TEMPLATES.iterdir()} - shared
    assert files == set(MAILS)
    assert set(MAIL_BUILDERS.of(site.app.registry["authsite"])) == set(MAILS)


@pytest.mark.control("M06")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", MAILS)
def test_a_mail_has_equal_text_and_html_parts(kind, language):
    made = mail(kind, language=language, **{"site-name": "Lighthouse"})
    assert [part.get_content_type() for part in made.walk()] == [
        "multipart/alternative", "text/plain", "text/html",
    ]  # fmt: skip
    assert made["Auto-Submitted"] == "auto-generated"
    assert "Lighthouse" in made["Subject"]
    text, html = text_of(made), html_of(made)
    assert link_in(made) == LINK
    assert f'<html lang="{language}" dir="ltr"' in html
    assert "Ann Lee" in text
    # From the greeting on: before it, the preheader may say the same as a paragraph.
    shown = words(html).replace("\u2011", "-").partition("Ann Lee")[2]
    for paragraph in text.split("\n\n")[1:]:
        paragraph = " ".join(paragraph.removeprefix("-- \n").split())
        if paragraph.endswith(":") or paragraph == LINK:
            continue  # "Open this link:" is the button's job there
        assert paragraph in shown, paragraph
        shown = shown.partition(paragraph)[2]  # the next one comes after it


@pytest.mark.parametrize("kind", MAILS)
def test_german_is_german(kind):
    english, german = mail(kind), mail(kind, language="de")
    assert german["Subject"] != english["Subject"]
    assert "Guten Tag Ann Lee!" in text_of(german)
    assert "Hello" not in text_of(german) + html_of(german)


@pytest.mark.control("M06")
@pytest.mark.parametrize("kind", MAILS)
def test_a_mail_loads_nothing_and_leads_only_to_its_link(kind):
    html = html_of(mail(kind))
    page = BeautifulSoup(html, "html.parser")
    assert {tag["href"] for tag in page.find_all(href=True)} == {LINK}
    assert page.find_all(["img", "script", "link", "iframe", "form"]) == []
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.parametrize(
    ("logo", "shown"),
    [("https://cdn.example.org/logo.png", "https://cdn.example.org/logo.png"),
     ("/static/logo.svg", "https://a.org/static/logo.svg")],
)  # fmt: skip
def test_the_site_s_own_logo_is_shown_with_its_full_address_and_name(logo, shown):
    made = mail("welcome", base="https://a.org/auth", **{"site-logo": logo, "site-name": "Sea"})
    [picture] = BeautifulSoup(html_of(made), "html.parser").find_all("img")
    assert (picture["src"], picture["alt"]) == (shown, "Sea")


def test_the_button_has_the_site_s_colour():
    button = BeautifulSoup(
        html_of(mail("reset", **{"accent-color": "#fc0"})), "html.parser"
    ).select_one("a.button")
    assert "color: #000000" in button["style"]
    assert "background-color: #fc0" in button.parent["style"]


@pytest.mark.control("M03")
@pytest.mark.parametrize("kind", MAILS)
def test_a_hostile_name_is_neither_shown_nor_in_a_header(kind):
    made = mail(kind, name=TRICKS)
    assert set(made.keys()) == {
        "Content-Type", "MIME-Version", "From", "To", "Subject", "Date", "Message-ID",
        "Auto-Submitted",
    }  # fmt: skip
    whole = made.as_string() + text_of(made) + html_of(made)
    assert "evil" not in whole
    assert "script" not in whole


@pytest.mark.control("M03")
def test_a_name_is_escaped_in_html_and_plain_in_text():
    made = mail("reset", name='Ann "A&B" Lee')
    assert 'Hello Ann "A&B" Lee,' in text_of(made)
    assert "Hello Ann &#34;A&amp;B&#34; Lee," in html_of(made)


@pytest.mark.control("M03")
@pytest.mark.parametrize("kind", MAILS)
def test_no_subject_can_hold_what_a_user_wrote(kind):
    """Only the site's name is there to be used: any other word in a subject raises."""
    ours, theirs = mail(kind), mail(kind, name="Somebody Else", link="https://other.example")
    assert ours["Subject"] == theirs["Subject"]


def test_a_mail_without_a_name_still_greets():
    assert text_of(mail("welcome", name=None)).startswith("Hello,\n\n")


@pytest.mark.parametrize("kind", ["password_changed", "email_changed", "welcome",
                                  "already_registered", "token_created",
                                  "email_replaced"])  # fmt: skip
def test_a_notice_without_a_link_has_no_button(kind):
    made = mail(kind, link=None)
    assert "href" not in html_of(made)
    assert "http" not in text_of(made)


@pytest.mark.parametrize("kind", ["email_changed", "already_registered"])
def test_a_second_way_is_a_link_in_both_parts_after_the_first(kind):
    made = mail(kind, other="https://a.org/other?token=x&y=1")
    text, page = text_of(made), BeautifulSoup(html_of(made), "html.parser")
    assert link_in(made) == LINK
    assert text.index(LINK) < text.index("\nhttps://a.org/other?token=x&y=1\n")
    ways = [tag["href"] for tag in page.find_all(href=True)]
    assert ways == [LINK, "https://a.org/other?token=x&y=1", LINK]
    assert page.select_one("a.button")["href"] == LINK


def test_lines_of_text_are_short_and_the_link_is_whole():
    for language in LANGUAGES:
        lines = text_of(mail("already_registered", language=language)).splitlines()
        assert [line for line in lines if len(line) > 72] == [LINK]


@pytest.mark.parametrize("kind", MAILS)
def test_no_line_of_french_begins_with_a_sign(kind):
    text = text_of(mail(kind, language="fr", **{"site-name": "L" * 60}))
    assert [line for line in text.splitlines() if line.startswith((":", ";", "?", "!"))] == []


def test_french_has_a_narrow_space_before_a_sign():
    assert "\u202f" in text_of(mail("reset", language="fr"))


def test_a_link_is_on_one_line_even_in_the_raw_mail():
    assert f"\n{LINK}\n" in mail("reset").as_string()


def test_every_attempt_has_the_same_message_id_of_the_sender_s_domain():
    first = mail("reset", **{"mail-from": "Sea <post@sea.example>"})
    assert first["Message-ID"] == mail("reset", **{"mail-from": "post@sea.example"})["Message-ID"]
    assert re.fullmatch(r"<[0-9a-f-]{36}@sea\.example>", first["Message-ID"])
    assert first["From"] == "Sea <post@sea.example>"


@pytest.mark.control("M03")
def test_a_registration_with_a_hostile_name_mails_nothing_of_it(site):
    hostile = {"name": 'x"<a href=//evil.example>', "password": "purple wolf 77 tea"}
    page = "http://localhost/email/verify"
    site.http.post_json(
        "/v1/register", {"email": "bo@example.com", "verification_url": page, **hostile}, status=201
    )
    [made] = site.mails()
    assert made["To"] == "bo@example.com"
    assert "evil" not in text_of(made) + html_of(made) + made.as_string()


def test_a_mail_without_a_recipient_is_not_sent(site):
    put(site, "reset", user_id=None, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert site.mails() == []


@pytest.mark.parametrize(
    "name",
    [
        "Acme, Inc.",
        "Dr. Smith: Co",
        "Müller (EU)",
        "Müller, EU",
        r'The "Best" \ Site',
        "日本, 株式会社",
        "Long, Name " * 11 + "X",
        "Lang, Nüme " * 11 + "X",
        "=?utf-8?q?X?=",
    ],
)
def test_every_name_of_a_sender_arrives_as_it_was_written(name):
    sender = str(Mailbox(name, "a@example.org"))
    raw = raw_mail("welcome", **{"mail-from": sender})
    written, address = parseaddr(message_from_bytes(raw)["From"])
    assert address == "a@example.org"
    parts = decode_header(written)
    assert "".join(t.decode(c) if c else str(t) for t, c in parts) == name
