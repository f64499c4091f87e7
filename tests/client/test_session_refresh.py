"""The typed client on a real authsite: one refresh for all who share a session."""

import asyncio
from dataclasses import asdict

import pytest

from authsite_client import (
    AsyncSession,
    Tokens,
)
from tests.support.site import PASSWORD
from tests.support.together import together

ANN = ("ann@example.com", PASSWORD)


def generation(site):
    [family] = site.families()
    return family.generation


def test_tokens_are_refreshed_before_they_expire(live, client_of, ahead):
    site = live(expires_in="10m")
    session = client_of(site).login(*ANN)
    first = session.access_token()
    ahead(569)
    assert session.access_token() == first
    ahead(571)
    assert session.access_token() != first
    assert session.user()["email"] == "ann@example.com"
    assert generation(site) == 1


def test_tokens_are_refreshed_once_after_a_401(live, client_of):
    site = live()
    session = client_of(site).login(*ANN)
    stored = Tokens(**{**asdict(session.tokens), "access_token": "at_unknown"})
    session = client_of(site).resume(stored)
    assert session.user()["email"] == "ann@example.com"
    assert session.tokens.access_token != "at_unknown"
    assert generation(site) == 1


def test_threads_share_one_refresh(live, client_of, ahead):
    """With no grace a second use of the refresh token would end the login."""
    site = live(refresh_grace="0s", expires_in="10m")
    session = client_of(site).login(*ANN)
    ahead(3600)
    assert len(set(together(*[session.access_token] * 20))) == 1
    assert generation(site) == 1
    assert session.user()["email"] == "ann@example.com"


def test_threads_that_get_401_share_one_refresh(live, client_of):
    site = live(refresh_grace="0s")
    session = client_of(site).login(*ANN)
    stored = Tokens(**{**asdict(session.tokens), "access_token": "at_unknown"})
    session = client_of(site).resume(stored)
    seen = together(*[session.user] * 12)
    assert {user["email"] for user in seen} == {"ann@example.com"}
    assert generation(site) == 1


def test_tasks_share_one_refresh(live, client_of):
    site = live(refresh_grace="0s")
    session = client_of(site).login(*ANN)
    stored = Tokens(**{**asdict(session.tokens), "refresh_at": 0.0})
    session = AsyncSession(client_of(site).resume(stored))

    async def run():
        return await asyncio.gather(*[session.access_token() for _ in range(30)])

    assert len(set(asyncio.run(run()))) == 1
    assert generation(site) == 1


def test_a_cancelled_task_does_not_lose_the_refreshed_tokens(live, client_of):
    site = live(refresh_grace="0s")
    session = client_of(site).login(*ANN)
    stored = Tokens(**{**asdict(session.tokens), "refresh_at": 0.0})
    session = AsyncSession(client_of(site).resume(stored))

    async def run():
        first = asyncio.create_task(session.access_token())
        await asyncio.sleep(0)
        first.cancel()
        return await session.user()

    assert asyncio.run(run())["email"] == "ann@example.com"
    assert generation(site) == 1


def test_new_tokens_are_saved_before_they_are_used(live, client_of):
    site = live()
    saved = []
    session = client_of(site).login(*ANN, save=saved.append)
    assert saved == [session.tokens]

    def save(tokens):
        saved.append(tokens)
        assert session.tokens is not tokens

    stale = Tokens(**{**asdict(session.tokens), "refresh_at": 0.0})
    session = client_of(site).resume(stale, save)
    session.access_token()
    assert len(saved) == 2
    assert saved[-1] == session.tokens
    assert saved[-1].refresh_token != stale.refresh_token


def test_tokens_that_could_not_be_saved_are_saved_before_the_next_use(live, client_of):
    site = live(refresh_grace="0s")
    stale = Tokens(**{**asdict(client_of(site).login(*ANN).tokens), "refresh_at": 0.0})
    saved, fail = [], [True, False]

    def save(tokens):
        if fail.pop(0):
            raise OSError("the disk is full")
        saved.append(tokens)

    session = client_of(site).resume(stale, save)
    with pytest.raises(OSError, match="disk"):
        session.access_token()
    assert session.user()["email"] == "ann@example.com"
    assert saved[-1] == session.tokens
    assert generation(site) == 1
