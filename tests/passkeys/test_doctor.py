"""What ``authsite doctor`` says about passkeys."""

import pytest
from sqlalchemy import update

from authsite.checks.features import passkey_findings
from authsite.platform.command_line.shared import services_of
from authsite.platform.settings import load_at_start
from authsite.sign_in.methods.passkeys.stored import Passkey
from tests.support.doctor import line
from tests.support.site import SECRET

from .passkey_users import register


def found(site, **settings):
    given = {"authsite.secret": SECRET, "authsite.database-url": site.url}
    more = {f"authsite.{name.replace('_', '-')}": value for name, value in settings.items()}
    with services_of(load_at_start({**given, **more})) as services:
        return list(passkey_findings(services))


def test_it_counts_those_of_another_domain(site):
    user = site.user(confirmed=True)
    for _ in range(3):
        register(site, user)
    assert line(found(site), "passkeys-on", "passkey-rp-id") == "passkeys of localhost: 3"
    other = found(site, base_url="https://example.org")
    message = line(other, "passkeys-foreign", "passkey-rp-id")
    assert message.startswith("3 passkeys belong to localhost")
    with site.db() as db:
        db.execute(update(Passkey).values(rp_id="example.org"))
    assert [each.state for each in found(site, base_url="https://example.org")] == ["ok"]
    assert [each.state for each in found(site)] == ["wrong"]


def test_it_says_why_there_are_none(site):
    message = line(found(site, base_url="https://192.0.2.1"), "passkeys-off", "passkey-rp-id")
    assert "IP address" in message


@pytest.mark.parametrize("url", ["sqlite:////nonexistent/x.db"])
def test_without_a_database_it_says_nothing(url):
    given = {"authsite.secret": SECRET, "authsite.database-url": url}
    with services_of(load_at_start(given)) as services:
        assert list(passkey_findings(services)) == []
