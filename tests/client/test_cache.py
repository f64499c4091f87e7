"""How long an identity is cached, how many, and one introspection for concurrent requests."""

import asyncio
import os
import signal
import threading

import pytest

from authsite_client import Identity, InvalidToken, Unavailable
from authsite_client.cache import IdentityCache
from tests.client.conftest import active
from tests.support.forks import in_forked_process
from tests.support.tiny_server import TIMEOUT, Held
from tests.support.together import together


def test_an_identity_is_cached_for_five_seconds_from_the_request_on(server, verifier, frozen_time):
    for seconds, requests in ((0, 1), (4.9, 1), (0.2, 2), (4.9, 2), (100, 3)):
        frozen_time.advance(seconds)
        verifier.verify("at_1")
        assert len(server.requests) == requests


def test_a_slow_response_does_not_extend_the_time(server, verifier, frozen_time):
    def slow(request):
        frozen_time.advance(2)
        return active(request)

    server.respond = slow
    verifier.verify("at_1")
    frozen_time.advance(3.1)
    verifier.verify("at_1")
    assert len(server.requests) == 2


def test_no_identity_is_used_beyond_the_expiry_of_its_token(server, verifier, frozen_time):
    server.respond = lambda request: active(request, exp=int(frozen_time.seconds) + 2)
    verifier.verify("at_1")
    frozen_time.advance(1.9)
    verifier.verify("at_1")
    assert len(server.requests) == 1
    frozen_time.advance(0.2)
    server.respond = lambda request: (200, {}, {"active": False})
    with pytest.raises(InvalidToken):
        verifier.verify("at_1")


def test_a_token_that_is_not_active_is_not_cached(server, verifier):
    for _ in range(2):
        with pytest.raises(InvalidToken):
            verifier.verify("dead_1")
    assert len(server.requests) == 2


def test_without_a_cache_every_request_is_introspected(server, verifier_of):
    verifier = verifier_of(server.url, cache=0)
    for _ in range(3):
        verifier.verify("at_1")
    assert len(server.requests) == 3


def test_the_cache_is_bounded_and_has_the_newest(server, verifier_of):
    verifier = verifier_of(server.url, max_entries=3)
    for number in range(10):
        verifier.verify(f"at_{number}")
    assert len(server.requests) == 10
    for number in (7, 8, 9):
        verifier.verify(f"at_{number}")
    assert len(server.requests) == 10
    verifier.verify("at_6")
    assert len(server.requests) == 11


def test_each_token_has_its_own_identity(server, verifier):
    server.respond = lambda request: active(request, sub=request.form["token"])
    for _ in range(2):
        assert [verifier.verify(f"at_{n}").sub for n in range(5)] == [f"at_{n}" for n in range(5)]


def test_threads_share_one_introspection(server, verifier):
    server.respond = held = Held(active)
    entered = []

    def verify():
        entered.append(1)
        if len(entered) == 30:
            held.release()
        return verifier.verify("at_1")

    assert len(set(together(*[verify] * 30))) == 1
    assert len(server.requests) == 1


def test_tasks_share_one_introspection_and_the_event_loop_goes_on(server, verifier):
    server.respond = held = Held(active)

    async def release():
        """The event loop itself lets the server respond: a blocked one never would."""
        while not held.arrived.is_set():
            await asyncio.sleep(0)
        held.release()

    async def verify_all():
        tasks = [verifier.verify_async("at_1") for _ in range(30)]
        return await asyncio.gather(release(), *tasks)

    assert len(set(asyncio.run(asyncio.wait_for(verify_all(), TIMEOUT)))) == 2  # None, identity
    assert len(server.requests) == 1


def test_a_cancelled_task_does_not_cancel_the_others(server, verifier):
    server.respond = held = Held(active)

    async def cancel_first():
        first, second = (asyncio.create_task(verifier.verify_async("at_1")) for _ in range(2))
        while not held.arrived.is_set():
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        held.release()
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(asyncio.wait_for(cancel_first(), TIMEOUT))
    assert isinstance(first, asyncio.CancelledError)
    assert second.username == "ann@example.com"
    assert len(server.requests) == 1


def test_a_verifier_that_is_closed_leaves_no_task_waiting(verifier):
    verifier.close()
    for _ in range(2):
        with pytest.raises(Unavailable):
            asyncio.run(asyncio.wait_for(verifier.verify_async("at_1"), TIMEOUT))


class Ended(BaseException):
    """What a worker raises in its own thread to end it, as Gunicorn's SystemExit."""


def test_a_thread_that_is_ended_leaves_the_token_to_the_next_one(server, verifier):
    def end(*_):
        raise Ended

    server.respond = held = Held(active)
    before = signal.signal(signal.SIGUSR1, end)
    try:
        interrupt = threading.Thread(
            target=lambda: held.arrived.wait(TIMEOUT) and os.kill(os.getpid(), signal.SIGUSR1)
        )
        interrupt.start()
        with pytest.raises(Ended):
            verifier.verify("at_1")
    finally:
        interrupt.join()
        signal.signal(signal.SIGUSR1, before)
    held.release()
    assert verifier.verify("at_1").username == "ann@example.com"


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_a_forked_process_has_connections_and_threads_of_its_own(server, verifier, kind):
    server.respond = lambda request: active(request, sub=request.form["token"])
    verifier.verify("at_parent")
    asyncio.run(verifier.verify_async("at_async"))
    assert server.connections == 1

    def child():
        if kind == "threads":
            return verifier.verify("at_2").sub == "at_2"
        done = asyncio.run(asyncio.wait_for(verifier.verify_async("at_2"), TIMEOUT))
        return done.sub == "at_2"

    assert in_forked_process(child)
    assert server.connections == 2
    assert verifier.verify("at_4").sub == "at_4"  # the connection of the parent still works
    assert server.connections == 2


def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent(server, verifier):
    server.respond = held = Held(active)
    thread = threading.Thread(target=verifier.verify, args=["at_1"])
    thread.start()
    assert held.arrived.wait(TIMEOUT)
    server.respond = active
    assert in_forked_process(lambda: verifier.verify("at_1").username == "ann@example.com")
    held.release()
    thread.join(TIMEOUT)


@pytest.mark.parametrize("late", [0, 1, 1_800_000_000])
def test_an_active_token_beyond_its_expiry_is_refused(server, verifier, frozen_time, late):
    server.respond = lambda request: active(request, exp=int(frozen_time.seconds) - late)
    with pytest.raises(InvalidToken):
        verifier.verify("at_1")
    server.respond = active
    assert verifier.verify("at_1").sub  # that was not a failure of authsite


def test_an_outcome_that_cannot_be_stored_leaves_nobody_waiting():
    """Whatever goes wrong: the next request makes its own request."""
    cache = IdentityCache(5.0, 10)
    flight, _ = cache.join(b"key")
    outcome = Identity("x", None, (), None, None, exp=10**400)
    with pytest.raises(OverflowError):
        cache.finish(b"key", outcome, 0.0)
    assert flight.result(0) is outcome
    assert cache.join(b"key")[1]
