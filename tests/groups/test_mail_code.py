"""``authsite user mail-code``, and the first visit of an administrator to whom no mail comes."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from authsite.platform.audit.models import AuditEvent
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import amr_of
from authsite.sign_in.pending import PendingLogin
from authsite.sign_in.sessions.models import BrowserSession
from tests.factor_pages.people import PAGE, App, begin, confirm, secret_in
from tests.support import factors
from tests.support.host import hello
from tests.support.in_process import Commands
from tests.support.pages import sign_in, submit

ANN = "ann@example.com"


@pytest.fixture
def site(site_with):
    made = site_with(second_factor="required")
    made.ann = made.user(confirmed=True)
    return made


@pytest.fixture
def commands(site, tmp_path):
    return Commands(site, tmp_path, second_factor="required")


def code(commands, *options):
    [row] = commands.json("user", "mail-code", ANN, *options)["codes"]
    return row["code"]


def shown(site):
    with site.db() as db:
        return db.scalars(select(AuditEvent).where(AuditEvent.event == "login.code_shown")).all()


def test_the_code_of_a_sign_in_that_waits_is_printed_and_recorded(site, commands):
    sign_in(site)
    found = code(commands, "--reason", "first owner")
    assert found in commands.run("user", "mail-code", ANN).stdout
    first, _ = shown(site)
    actor = {"kind": "command", "id": None}
    assert first.details == {"codes": "1", "actor": actor, "reason": "first owner"}
    assert first.user_id == site.ann.id
    assert found not in str([each.details for each in shown(site)])
    page = submit(site, "/login/factor", method="email", code=found).follow()
    assert page.html.h1.text == "Set up a second factor"


def test_without_a_sign_in_that_waits_there_is_none(site, commands):
    assert "no code for" in commands.run("user", "mail-code", ANN, status=1).output
    sign_in(site)
    with site.db() as db:
        db.execute(update(PendingLogin).values(failures=5))
    commands.run("user", "mail-code", ANN, status=1)
    with site.db() as db:
        past = clock.now() - timedelta(seconds=1)
        db.execute(update(PendingLogin).values(failures=0, expires_at=past))
    commands.run("user", "mail-code", ANN, status=1)
    assert shown(site) == []
    commands.run("user", "mail-code", "nobody@example.com", status=1)


def test_no_code_is_printed_of_a_sign_in_that_needs_another_factor(site, commands):
    factors.add_totp(site, site.ann)
    sign_in(site)
    commands.run("user", "mail-code", ANN, status=1)


def test_nor_one_of_another_user(site, commands):
    site.user("bo@example.com", confirmed=True)
    sign_in(site, "bo@example.com")
    commands.run("user", "mail-code", ANN, status=1)


def test_the_first_visit_of_an_owner_to_whom_no_mail_comes(host_with, tmp_path):
    """Password, code, a factor: and that sign-in has the level of administrators."""

    def build(config):
        config.add_route("owners", "/owners", guard="web", group="authsite:owner")
        config.add_view(hello, route_name="owners")

    site = host_with(build)
    site.user(confirmed=True)
    commands = Commands(site, tmp_path)
    granted = commands.run("admin", "grant", ANN, "owner")
    assert "authsite user mail-code" in granted.stderr
    sign_in(site)
    page = site.http.get("/owners", status=302).follow()
    assert page.location.startswith("http://localhost/account/factors")
    submit(site, f"{PAGE}/mail", page=PAGE)  # the button "Mail me a code"
    with site.db() as db:
        db.execute(update(OutboxMessage).values(state="dead"))
    page = begin(site, mail_code=code(commands))
    secret = secret_in(page)
    assert confirm(site, page, App(secret).code()).status_int in (200, 303)
    with site.db() as db:
        [session] = db.scalars(select(BrowserSession))
    assert amr_of(session.facts)[-1] == "otp"
    site.http.get("/owners", status=200)
