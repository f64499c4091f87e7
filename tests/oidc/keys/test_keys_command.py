"""``authsite keys …``"""

import json
import os
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from sqlalchemy import select, update

from authsite.cli import authsite
from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.rotation import alone
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.audit.models import AuditEvent
from authsite.platform.settings import new_sealing_key
from tests.oidc.keys.conftest import services_of
from tests.support.home import OURS
from tests.support.site import SECRET


@pytest.fixture
def command(provider, tmp_path, monkeypatch):
    """A function that runs a command on the site's database, and returns its JSON."""
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "development.ini").write_text("[app:main]\nuse = egg:authsite\n")
    monkeypatch.setenv("AUTHSITE_SECRET", SECRET)
    monkeypatch.setenv("AUTHSITE_DATABASE_URL", provider.url)
    services = services_of(provider)

    def run(*arguments, status=0):
        done = CliRunner().invoke(authsite, ["keys", *arguments, "--json"])
        assert done.exit_code == status, done.output
        return json.loads(done.output)

    run.make_keys = lambda: ring_of(services).keys(services)
    run.site = provider
    return run


def events(site):
    with site.db() as db:
        found = db.scalars(select(AuditEvent).where(AuditEvent.event.startswith("key.")))
        return [(each.event, each.details) for each in found]


def text_of(*arguments):
    return CliRunner().invoke(authsite, ["keys", *arguments]).output


def test_the_list_has_each_key_with_its_state_and_no_private_part(command):
    assert command("list") == {"keys": [], "total": 0}
    assert "No keys yet" in text_of("list")
    command.make_keys()
    listed = command("list")["keys"]
    assert [(each["alg"], each["state"]) for each in listed] == [
        ("RS256", "current"), ("RS256", "next"), ("ES256", "current"), ("ES256", "next"),
    ]  # fmt: skip
    assert all(each["usable"] and each["published"] for each in listed)
    shown = text_of("list")
    assert all(each["kid"] in shown for each in listed)
    assert "private" not in json.dumps(listed)


def test_a_key_that_does_not_open_is_listed_and_only_replaced_with_now(command, monkeypatch):
    command.make_keys()
    monkeypatch.setenv("AUTHSITE_SECRET", new_sealing_key())
    monkeypatch.setenv("AUTHSITE_SEALING_KEY", new_sealing_key())
    assert not any(each["usable"] for each in command("list")["keys"])
    message = text_of("rotate")
    assert "no sealing-key opens the key" in message
    assert "--now" in message


def test_rotate_waits_until_clients_know_the_next_key(command):
    command.make_keys()
    before = command("list")["keys"]
    assert "clients may not know the next RS256 key before" in text_of("rotate")
    assert command("list")["keys"] == before
    with command.site.db() as db:
        db.execute(update(SigningKey).values(created_at=datetime(2020, 1, 1, tzinfo=UTC)))
    done = command("rotate")["rotated"]
    assert [each["alg"] for each in done] == ["RS256", "ES256"]
    assert [each["current"] for each in done] == [before[1]["kid"], before[3]["kid"]]


def test_rotate_now_and_remove_what_has_signed(command):
    command.make_keys()
    before = command("list")["keys"]
    done = command("rotate", "--now")["rotated"]
    assert done[0]["previous"] == before[0]["kid"]
    assert done[0]["current"] == before[1]["kid"]
    removed = command("remove", before[0]["kid"])
    assert removed == {"kid": before[0]["kid"], "alg": "RS256", "state": "previous"}
    assert before[0]["kid"] not in [each["kid"] for each in command("list")["keys"]]
    assert events(command.site) == [
        ("key.rotated", {"kid": before[1]["kid"], "alg": "RS256", "previous": before[0]["kid"]}),
        ("key.rotated", {"kid": before[3]["kid"], "alg": "ES256", "previous": before[2]["kid"]}),
        ("key.removed", {"kid": before[0]["kid"], "alg": "RS256"}),
    ]


def test_the_key_that_signs_and_one_that_does_not_exist_are_not_removed(command):
    command.make_keys()
    [signing, *_] = command("list")["keys"]
    assert "run `authsite keys rotate` first" in text_of("remove", signing["kid"])
    assert "there is no key x" in text_of("remove", "x")
    assert events(command.site) == []


def test_while_another_process_changes_keys_a_command_says_so(command, monkeypatch):
    command.make_keys()
    with alone(command.site.database):
        assert "try again in a moment" in text_of("rotate", "--now")
