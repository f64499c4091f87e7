"""POST /v1/oauth/revoke (RFC 7009): a client ends its own tokens, and no others."""

import uuid

import pytest

from authsite.platform.audit.models import AuditEvent
from tests.oauth.test_tokens_made_up import rubbish
from tests.oauth.test_tokens_revocation import dead
from tests.support.site import Site


@pytest.fixture
def keys(site):
    site.user()
    return site.client()


@pytest.fixture
def tokens(site, keys):
    return site.login(keys)


@pytest.mark.control("T18")
@pytest.mark.control("T24")
@pytest.mark.parametrize("hint", ["", "access_token", "refresh_token", "unknown"])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_either_token_ends_the_whole_login_on_every_process(site, keys, tokens, kind, hint):
    other, second = Site(site.url), site.login(keys)
    answer = site.revoke(keys, tokens[kind], token_type_hint=hint)
    assert (answer.status_int, answer.json) == (200, {})
    for each in (site, other):
        dead(each, keys, tokens)
        each.me(second["access_token"])
    other.database.dispose()


def test_a_client_revokes_the_tokens_of_its_own_account(site):
    keys = site.client("personal")
    tokens = site.token(keys, grant_type="client_credentials").json
    site.revoke(keys, tokens["refresh_token"])
    dead(site, keys, tokens)


@pytest.mark.control("T10")
@pytest.mark.control("T24")
@pytest.mark.parametrize("type", ["password", "personal", "resource-server"])
@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_another_client_gets_200_and_changes_nothing(site, keys, tokens, type, kind):
    events = site.events()
    answer = site.revoke(site.client(type), tokens[kind])
    assert (answer.status_int, answer.json) == (200, {})
    assert site.events() == [*events, "client.created"]
    site.me(tokens["access_token"])
    site.refresh(keys, tokens["refresh_token"])


@pytest.mark.control("T24")
def test_what_is_no_token_gets_200(site, keys, tokens):
    for text in rubbish(tokens):
        if 0 < len(text) <= 512 and text != tokens["refresh_token"]:
            assert site.revoke(keys, text).json == {}
    site.me(tokens["access_token"])


def test_a_token_that_is_revoked_already_gets_200_and_no_second_event(site, keys, tokens):
    site.revoke(keys, tokens["access_token"])
    events = site.events()
    assert events[-1] == "token.revoked"
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert site.revoke(keys, token).json == {}
    assert site.events() == events


def test_an_expired_access_token_still_ends_its_login(site_with, frozen):
    site = site_with(expires_in="60s", refresh_expires_in="1h")
    site.user()
    keys = site.client()
    tokens = site.login(keys)
    frozen.advance(61)
    site.revoke(keys, tokens["access_token"])
    assert site.refresh(keys, tokens["refresh_token"], 400)["error"] == "invalid_grant"


def test_a_used_refresh_token_still_ends_its_login(site, keys, tokens, frozen):
    newest = site.refresh(keys, tokens["refresh_token"])
    frozen.advance(3600)
    site.revoke(keys, tokens["refresh_token"])
    dead(site, keys, newest)
    assert "token.reused" not in site.events()


def test_the_revocation_is_on_record_with_user_client_and_family(site, keys, tokens):
    site.revoke(keys, tokens["refresh_token"])
    [family] = site.families()
    assert family.revoked_why == "revocation"
    with site.db() as db:
        event = db.query(AuditEvent).filter_by(event="token.revoked").one()
    assert event.details == {"family": str(family.id), "why": "revocation"}
    assert (event.user_id, event.client_id) == (family.user_id, uuid.UUID(keys.client_id))
