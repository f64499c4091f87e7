"""What ``authsite serve`` says at the start; its commands work, in every variant."""

import re
import shlex

import pytest

from authsite.cli.serve import greeting, start_lines
from tests.cli.doctor_of_database import at_offset
from tests.support.mails import link_in
from tests.support.site import WEB

LOCAL = "http://localhost:6543"
OURS = "https://auth.example.org"
CONFIRMED = {"variant": "B", "require_email_confirmation": "true"}
DOMAINS = {"registration": "domains", "registration_domains": "corp.example other.example"}


def commands(text):
    """(path, header or form) of each curl command, in order."""
    joined = text.replace("\\\n", " ")
    for found in re.findall(r"curl -s .*", joined):
        _, _, url, *options = shlex.split(found)
        yield url.removeprefix(LOCAL), dict(zip(options[1::2], options[0::2], strict=True))


def run(site, command):
    """The response to a command, with its form."""
    path, options = command
    assert set(options.values()) == {"-d"}
    return site.http.post(path, dict(each.split("=", 1) for each in options))


@pytest.mark.parametrize("settings", [{}, CONFIRMED, {"variant": "B"}, DOMAINS], ids=repr)
def test_m17_the_commands_work_one_after_the_other(site_with, settings):
    site = site_with(**WEB, **settings)
    site.first_party("web")
    text = greeting(site.cfg, LOCAL)
    register, log_in, who = commands(text)
    assert run(site, register).status_int == 201
    confirms = settings in (CONFIRMED, DOMAINS)
    assert ("open the link" in text) == confirms
    if confirms:
        [mail] = site.mails()
        site.http.get(link_in(mail)).forms[0].submit()
    token = run(site, log_in).json["access_token"]
    path, options = who
    [header] = options
    assert header == "Authorization: Bearer <access_token>"
    answer = site.http.get(path, headers={"Authorization": f"Bearer {token}"})
    assert answer.json["email"] == f"you@{'corp.example' if settings == DOMAINS else 'example.com'}"


def test_m17_the_greeting_names_the_pages_that_exist(site_with):
    text = greeting(site_with().cfg, LOCAL)
    assert text.startswith(f"authsite is running at {LOCAL}  (")
    for path in ("/", "/login", "/docs"):
        assert f" {LOCAL}{path}\n" in text
    assert "/docs" not in greeting(site_with(docs_page="off").cfg, LOCAL)
    elsewhere = "https://example.org/sign-in"
    assert f" {elsewhere}\n" in greeting(site_with(login_page_url=elsewhere).cfg, LOCAL)


def test_m17_in_production_the_greeting_has_our_address_and_no_command(site_with):
    cfg = site_with(
        production="true", base_url=OURS, mail_driver="smtp", smtp_url="smtp://localhost"
    ).cfg
    text = greeting(cfg, "http://localhost:7210")
    assert text.startswith(f"authsite is running at {OURS}; it listens on http://localhost:7210  (")
    assert f" {OURS}/login\n" in text
    assert "curl" not in text


def test_without_registration_a_command_creates_the_first_user(site_with):
    text = greeting(site_with(registration="off").cfg, LOCAL)
    assert "authsite user create --email you@example.com" in text
    assert "/v1/register" not in text


@pytest.mark.parametrize(
    ("ini", "notes"),
    [
        ("authsite.base-url = http://auth.example.org", ["base-url does not begin with https://"]),
        ("", ["base-url is not set"]),
        ("authsite.base-url = https://auth.example.org", []),
        ("authsite.openid = off", []),
    ],
)
def test_the_start_says_why_openid_connect_is_off(found, ini, notes):
    lines = [text for text, _ in start_lines(found(ini=f"authsite.bcrypt-cost = 12\n{ini}"), [])]
    shown = [line for line in lines if line.startswith("note: authsite.openid:")]
    assert len(shown) == len(notes)
    assert all(note in line for note, line in zip(notes, shown, strict=True))


@pytest.mark.parametrize(("seconds", "named"), [(86400, True), (-86400, True), (50, False)])
def test_the_start_names_a_clock_that_is_off(found, seconds, named):
    lines = [text for text, _ in start_lines(at_offset(found, seconds), [])]
    clocks = [line for line in lines if line.startswith("WRONG  clock:")]
    assert len(clocks) == named
    assert all("this machine's clock is 86400" in line for line in clocks)
