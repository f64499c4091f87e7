"""The threads behind the ASGI application: how many work at once, and who waits for whom."""

import asyncio
import threading
import time
import weakref

from authsite.platform.passwords import HashPool
from authsite.platform.runtime.slots import WorkQueue, waiting
from authsite.server.asgi import AsgiBridge, WorkerThreads

SECONDS = 20  # for what takes a moment


def run(threads, *paths):
    """The answers of ``threads`` to requests for ``paths`` at the same time."""

    async def all_at_once():
        requests = (threads.run({"PATH_INFO": path}) for path in paths)
        return await asyncio.wait_for(asyncio.gather(*requests), SECONDS)

    return [answer.content for answer in asyncio.run(all_at_once())]


def test_no_more_than_the_active_ones_work_at_the_same_time():
    working, most, lock = 0, 0, threading.Lock()

    def application(environ, start_response):
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        threading.Event().wait(0.01)
        with lock:
            working -= 1
        start_response("200 OK", [])
        return [b"done"]

    threads = WorkerThreads(application, count=8, active=2, name="test")
    assert run(threads, *["/"] * 20) == [b"done"] * 20
    assert most == 2


def test_a_request_that_waits_for_a_hash_lets_another_one_work():
    """Otherwise as many logins as there are slots would hold up every refresh."""
    pool, second_has_run = HashPool(threads=1), threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/login":
            pool.run(lambda: second_has_run.wait(SECONDS))
        else:
            second_has_run.set()
        start_response("200 OK", [])
        return [environ["PATH_INFO"].encode()]

    threads = WorkerThreads(application, count=2, active=1, name="test")
    assert run(threads, "/login", "/refresh") == [b"/login", b"/refresh"]


def test_a_request_is_answered_after_its_hash_though_every_other_thread_is_idle():
    """An idle thread holds no slot, which the login needs to go on."""
    pool = HashPool(threads=1)

    def application(environ, start_response):
        pool.run(lambda: threading.Event().wait(0.05))
        start_response("200 OK", [])
        return [b"in"]

    threads = WorkerThreads(application, count=3, active=1, name="test")
    assert run(threads, "/") == [b"in"]
    assert run(threads, "/", "/", "/") == [b"in"] * 3


def test_logins_that_use_up_all_threads_are_all_answered():
    pool = HashPool(threads=1, queue=20)

    def application(environ, start_response):
        pool.run(lambda: threading.Event().wait(0.01))
        pool.run(lambda: threading.Event().wait(0.01))
        start_response("200 OK", [])
        return [b"in"]

    threads = WorkerThreads(application, count=4, active=2, name="test")
    assert run(threads, *["/"] * 12) == [b"in"] * 12


def test_a_thread_that_has_waited_goes_on_though_work_never_ends():
    """A thread keeps its slot as long as there is work, so it has to be asked for it."""
    queue, began, done = WorkQueue(active=1), threading.Event(), threading.Event()

    def handle(item):
        if item == "login":
            with waiting():
                began.wait(SECONDS)
            done.set()
        elif not done.is_set():
            began.set()
            queue.put("refresh")

    for _ in range(2):
        threading.Thread(target=queue.work, args=(handle,), daemon=True).start()
    queue.put("login")
    queue.put("refresh")
    try:
        assert done.wait(SECONDS)
    finally:
        done.set()


class Headers(list):
    """Unlike a list, an object that a weak reference can point to."""


def test_a_thread_keeps_nothing_of_a_request_that_is_over():
    seen = []

    def application(environ, start_response):
        headers = Headers()
        seen.append(weakref.ref(headers))
        start_response("200 OK", headers)
        return [b"done"]

    threads = WorkerThreads(application, count=1, active=1, name="test")
    assert run(threads, "/") == [b"done"]
    end = time.monotonic() + SECONDS
    while seen[0]() is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert seen[0]() is None


def test_health_is_answered_at_once_while_every_thread_waits():
    """R5: a database that does not answer holds up all threads, and the process is up."""
    go_on = threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] != "/healthz":
            go_on.wait(SECONDS)
        start_response("200 OK", [])
        return [environ["PATH_INFO"].encode()]

    bridge = AsgiBridge(application, threads=1, active=1, immediate=frozenset({"/healthz"}))

    async def ask(path):
        sent = []

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http",
            "raw_path": path.encode(), "query_string": b"", "headers": [],
            "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await bridge(scope, None, send)
        return sent[1]["body"]

    async def all_at_once():
        stuck = [asyncio.create_task(ask("/")) for _ in range(5)]
        await asyncio.sleep(0)
        # If it waited for one of them, it would wait for ever.
        assert await asyncio.wait_for(ask("/healthz"), 30) == b"/healthz"
        assert not any(task.done() for task in stuck)
        go_on.set()
        assert await asyncio.gather(*stuck) == [b"/"] * 5

    asyncio.run(all_at_once())
