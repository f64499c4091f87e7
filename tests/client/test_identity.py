"""Whom a token belongs to: only a confirmed address names a user."""

import asyncio
import pickle
from copy import copy
from dataclasses import asdict

import pytest

from authsite_client import (
    ClientRequired,
    EmailNotVerified,
    Identity,
    Unavailable,
    UserRequired,
)
from tests.client.conftest import CLAIMS, UNCONFIRMED, active, by_token


@pytest.fixture
def server(server):
    server.respond = by_token
    return server


def test_a_confirmed_address_is_the_username(verifier):
    identity = verifier.verify("at_1")
    assert (identity.username, identity.email) == ("ann@example.com", "ann@example.com")
    assert identity.email_verified


def test_an_address_that_is_not_confirmed_is_no_username(verifier):
    identity = verifier.verify("at_unconfirmed")
    assert (identity.username, identity.email_verified) == (None, False)
    assert identity.email == "ceo@corp.example"
    assert identity.sub == CLAIMS["sub"]


@pytest.mark.parametrize("claims", [{}, {"email_verified": False}])
def test_a_username_counts_only_with_the_word_that_it_is_confirmed(server, verifier, claims):
    """An older authsite sends the address of every user as ``username``, and says no more."""
    old = {name: value for name, value in CLAIMS.items() if name != "email_verified"}
    server.respond = lambda request: (200, {}, {**old, **claims})
    identity = verifier.verify("at_1")
    assert (identity.username, identity.email_verified) == (None, False)


@pytest.mark.parametrize("value", ["true", 1, None])
def test_a_confirmation_that_is_neither_true_nor_false_opens_nothing(server, verifier, value):
    server.respond = lambda request: active(request, email_verified=value)
    with pytest.raises(Unavailable):
        verifier.verify("at_1")


def test_a_user_and_a_client_can_be_told_apart(verifier):
    user, client = verifier.verify("at_1"), verifier.verify("at_client")
    assert user.require_user() == CLAIMS["sub"]
    assert client.require_client() == "c"
    with pytest.raises(UserRequired):
        client.require_user()
    with pytest.raises(ClientRequired):
        user.require_client()


@pytest.mark.parametrize("owner", [None, "service"])
def test_who_is_neither_user_nor_client_is_neither(server, verifier, owner):
    server.respond = lambda request: active(request, owner=owner)
    identity = verifier.verify("at_1")
    with pytest.raises(UserRequired):
        identity.require_user()
    with pytest.raises(ClientRequired):
        identity.require_client()


def test_a_verifier_may_want_confirmed_users(server, verifier_of):
    verifier = verifier_of(server.url, verified=True)
    assert verifier.verify("at_1").username == "ann@example.com"
    for _ in range(2):  # from the service, then from the cache
        with pytest.raises(EmailNotVerified):
            verifier.verify("at_unconfirmed")
        with pytest.raises(EmailNotVerified):
            asyncio.run(verifier.verify_header_async("Bearer at_unconfirmed"))
    assert verifier.verify("at_client").owner == "client"


def test_a_token_that_is_still_active_costs_one_request_for_each_cache_time(
    server, verifier, frozen_time
):
    identity = verifier.verify("at_1")
    for _ in range(3):
        assert identity.still_active()
    assert len(server.requests) == 1
    frozen_time.advance(6)
    for _ in range(3):
        assert asyncio.run(identity.still_active_async())
    assert len(server.requests) == 2


def test_a_token_that_was_revoked_is_not_active_any_more(server, verifier, frozen_time):
    identity = verifier.verify("at_1")
    server.respond = lambda request: (200, {}, {"active": False})
    assert identity.still_active()  # from the cache
    frozen_time.advance(6)
    assert not identity.still_active()
    assert not asyncio.run(identity.still_active_async())


def test_a_token_whose_user_may_not_pass_any_more_is_not_active(server, verifier_of):
    identity = verifier_of(server.url, verified=True, cache=0).verify("at_1")
    server.respond = lambda request: (200, {}, UNCONFIRMED)
    assert not identity.still_active()


def test_without_authsite_it_is_unknown_whether_a_token_is_active(server, verifier, frozen_time):
    identity = verifier.verify("at_1")
    server.respond = lambda request: (500, {}, b"")
    frozen_time.advance(6)
    with pytest.raises(Unavailable):
        identity.still_active()
    with pytest.raises(Unavailable):
        asyncio.run(identity.still_active_async())


def test_an_identity_tells_its_token_to_nothing_but_the_verifier(verifier):
    identity = verifier.verify("at_hidden")
    assert "hidden" not in repr(identity) + repr(asdict(identity))
    assert "hidden" not in repr(pickle.dumps(identity))
    for same in (copy(identity), pickle.loads(pickle.dumps(identity)), verifier.verify("at_2")):  # noqa: S301  ours
        assert same == identity
        assert hash(same) == hash(identity)


def test_an_identity_of_no_verifier_cannot_be_asked():
    with pytest.raises(RuntimeError, match="verifier"):
        Identity("a", None, (), None, "user", None).still_active()
