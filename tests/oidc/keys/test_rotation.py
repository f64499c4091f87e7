"""The rotation of signing keys: by time, by hand, and for clients that remember keys."""

import json
from base64 import urlsafe_b64decode
from threading import Event as Stop

import pytest
from sqlalchemy import select, text
from structlog.testing import capture_logs

from authsite.oauth.oidc.id_tokens import sign
from authsite.oauth.oidc.keys.ring import ring_of
from authsite.oauth.oidc.keys.rotation import (
    RotationRefused,
    alone,
    complete,
    remove,
    rotate,
    transaction,
)
from authsite.oauth.oidc.keys.scheduled import Waits, keep_keys, run
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.audit.events import Event
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.oidc.keys.conftest import ISSUER, another_process, services_of
from tests.support.acting import acting
from tests.support.extent import volume

pytestmark = pytest.mark.both_databases
ALGORITHMS = ("RS256", "ES256")
HOUR, DAY = 3600.0, 86400.0
EACH = 3  # hours of a step


def keys_in(site):
    """The keys by algorithm and state."""
    with site.db() as db:
        rows = db.scalars(select(SigningKey).order_by(SigningKey.created_at)).all()
    return {
        (row.alg, "previous" if row.previous_at else "current" if row.current_at else "next"): row
        for row in rows
    }


def signed_with(services, alg):
    token = sign(acting(None, services), {"iss": ISSUER, "sub": "x"}, alg)
    return json.loads(urlsafe_b64decode(token.split(".")[0] + "=="))["kid"]


def rotated(services, **options):
    with alone(services.database), transaction(services) as ctx:
        done = [rotate(ctx, alg, **options) for alg in ALGORITHMS]
    ring_of(services).forget()
    return done


def test_the_task_makes_the_first_keys_and_rotates_them_when_they_are_old_enough(provider, frozen):
    services = services_of(provider)
    keep_keys(services)
    first = keys_in(provider)
    assert set(first) == {(alg, state) for alg in ALGORITHMS for state in ("current", "next")}
    frozen.advance(90 * DAY - 1)
    keep_keys(services)
    assert keys_in(provider).keys() == first.keys()
    frozen.advance(1)
    keep_keys(services)
    second = keys_in(provider)
    for alg in ALGORITHMS:
        assert second[alg, "previous"].kid == first[alg, "current"].kid
        assert second[alg, "previous"].private is None
        assert second[alg, "current"].kid == first[alg, "next"].kid
        assert second[alg, "next"].kid not in {row.kid for row in first.values()}
        assert signed_with(services, alg) == first[alg, "next"].kid
    with provider.db() as db:
        events = db.scalars(select(AuditEvent).where(AuditEvent.event == Event.KEY_ROTATED)).all()
    assert [event.details for event in events] == [
        {
            "alg": alg,
            "kid": first[alg, "next"].kid,
            "previous": first[alg, "current"].kid,
        }
        for alg in ALGORITHMS
    ]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_key_may_take_longer_to_make_than_a_transaction_of_a_request(provider):
    limit = text("SHOW idle_in_transaction_session_timeout")
    with transaction(services_of(provider)) as ctx:
        assert ctx.db.scalar(limit) != "0"
        complete(ctx)
        assert ctx.db.scalar(limit) == "0"
    with provider.db() as db:
        assert db.scalar(limit) != "0"


def test_by_hand_alone_the_task_never_rotates(provider_with, frozen):
    provider = provider_with(signing_key_rotation="0")
    services = services_of(provider)
    keep_keys(services)
    frozen.advance(5000 * DAY)
    keep_keys(services)
    assert {state for _, state in keys_in(provider)} == {"current", "next"}
    rotated(services)
    assert {state for _, state in keys_in(provider)} == {"current", "next", "previous"}


def test_clients_that_remember_keys_for_a_day_know_every_key_that_signs(provider_with, frozen):
    """Relying parties cache keys for hours; two processes sign during some rotations."""
    provider = provider_with(signing_key_rotation="2d")
    ours, other = services_of(provider), another_process(provider)
    caches = [[0.0, set()] for _ in range(6)]  # of clients: when to fetch again, known ids
    rotations, tokens, now, days = set(), [], 0.0, volume(9, 21)
    for step in range(days * 24 // EACH):
        keep_keys(ours if step % 2 else other)
        for client, cache in enumerate(caches):
            process = ours if (step + client) % 2 else other
            if now >= cache[0]:
                known = ring_of(process).keys(process).published(clock.now())
                first = cache[0] == 0.0  # later they do not all fetch at once
                until = now + DAY - (EACH * HOUR * client if first else 0)
                cache[:] = [until, {key["kid"] for key in known}]
        for process in (ours, other):
            for alg in ALGORITHMS:
                tokens.append((now + 24 * HOUR, signed_with(process, alg)))
        tokens = list({token for token in tokens if token[0] > now})
        rotations |= {kid for _, kid in tokens}
        listed = {key["kid"] for key in ring_of(ours).keys(ours).published(clock.now())}
        for _, kid in tokens:  # a client that begins now verifies what has not expired
            assert kid in listed, step
        newest = {kid for at, kid in tokens if at == now + 24 * HOUR}
        for _, known in caches:
            assert newest <= known, step
        frozen.advance(EACH * HOUR)
        now += EACH * HOUR
    assert len(rotations) >= 2 * (days // 2)


def test_by_hand_a_key_does_not_sign_before_clients_know_it(provider, frozen):
    services = services_of(provider)
    keep_keys(services)
    frozen.advance(25 * HOUR - 1)
    with pytest.raises(RotationRefused, match="or give --now"):
        rotated(services)
    before = keys_in(provider)
    assert {state for _, state in before} == {"current", "next"}
    frozen.advance(1)
    rotated(services)
    assert keys_in(provider)["RS256", "current"].kid == before["RS256", "next"].kid


def test_at_once_the_next_key_signs_although_it_is_new(provider, frozen):
    services = services_of(provider)
    keep_keys(services)
    before = keys_in(provider)
    rotated(services, at_once=True)
    after = keys_in(provider)
    assert after["ES256", "current"].kid == before["ES256", "next"].kid
    frozen.advance(60)
    other = another_process(provider)
    assert signed_with(other, "ES256") == before["ES256", "next"].kid


def test_a_key_that_signs_is_not_removed_and_one_ahead_is_replaced(provider):
    services = services_of(provider)
    keep_keys(services)
    before = keys_in(provider)
    with transaction(services) as ctx, pytest.raises(RotationRefused, match="keys rotate"):
        remove(ctx, before["RS256", "current"].kid)
    with transaction(services) as ctx, pytest.raises(RotationRefused, match="keys list"):
        remove(ctx, "unknown")
    with transaction(services) as ctx:
        remove(ctx, before["RS256", "next"].kid)
    after = keys_in(provider)
    assert after["RS256", "next"].kid != before["RS256", "next"].kid
    assert after["RS256", "current"].kid == before["RS256", "current"].kid


def test_the_task_survives_errors_and_says_them_once(provider, monkeypatch):
    services = services_of(provider)
    stop = Stop()
    failed = []

    class Waiting:
        """Lets the task run twice."""

        def wait(self, _seconds):
            failed.append(1)
            if len(failed) == 3:
                stop.set()
            return stop.is_set()

    with provider.db() as db:
        db.execute(SigningKey.__table__.delete())
    other = another_process(provider, other_sealing=True)
    keep_keys(services)
    with capture_logs() as log:
        run(other, Waiting(), Waits((0, 0), (0, 0), (0, 0)))
    lines = [each for each in log if each["event"] == "signing_key_unusable"]
    assert {each["log_level"] for each in lines} == {"error"}
    assert {each["alg"] for each in lines} == set(ALGORITHMS)
