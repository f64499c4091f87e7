"""Requests at a fixed rate, independent of the responses (open loop).

wrk waits for a response before it sends the next request, so its latencies leave out the requests
that it did not send during the wait. Here a time is measured from the moment at which a request was
due.
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Stream(NamedTuple):
    """``rate`` requests per second, taken in turn from ``requests`` (bytes on the wire)."""

    rate: float
    requests: Iterator[bytes]


@dataclass(frozen=True)
class Answer:
    """A status (0: the connection broke) and the seconds from when the request was due."""

    status: int
    seconds: float


def run(port, seconds, **streams):
    """Send all ``streams`` for ``seconds``; the responses of each, by name."""
    return asyncio.run(_run(port, seconds, streams))


def percentile(responses, share):
    """The milliseconds within which ``share`` (0 to 1) of ``responses`` came."""
    times = sorted(answer.seconds for answer in responses)
    return 1000 * times[min(len(times) - 1, int(share * len(times)))] if times else float("nan")


def median(responses):
    """The median in milliseconds."""
    return 1000 * statistics.median(answer.seconds for answer in responses)


def get(path, tokens):
    """GET requests of ``path`` with one of ``tokens`` after the other, without end."""
    for token in itertools.cycle(tokens):
        yield _bytes(f"GET {path} HTTP/1.1", f"Authorization: Bearer {token}")


def post(path, bodies):
    """POST requests of form bodies, one after the other, without end."""
    for body in itertools.cycle(bodies):
        kind = "Content-Type: application/x-www-form-urlencoded"
        yield _bytes(f"POST {path} HTTP/1.1", kind, f"Content-Length: {len(body)}") + body.encode()


def _bytes(*lines):
    return "\r\n".join([*lines, "Host: localhost", "", ""]).encode()


async def _run(port, seconds, streams):
    idle = []
    began = time.perf_counter() + 0.1
    responses = await asyncio.gather(
        *(_stream(port, idle, stream, began, seconds) for stream in streams.values())
    )
    for _reader, writer in idle:
        writer.close()
    return dict(zip(streams, responses, strict=True))


async def _stream(port, idle, stream, began, seconds):
    under_way = []
    for number in range(int(stream.rate * seconds)):
        due = began + number / stream.rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        response = _send(port, idle, next(stream.requests), due)
        under_way.append(asyncio.create_task(response))
    return await asyncio.gather(*under_way)


async def _send(port, idle, request, due):
    try:
        connection = idle.pop() if idle else await asyncio.open_connection("127.0.0.1", port)
        status = await _exchange(connection, request)
        idle.append(connection)
    except (OSError, EOFError, asyncio.IncompleteReadError):
        status = 0
    return Answer(status, time.perf_counter() - due)


async def _exchange(connection, request):
    reader, writer = connection
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.partition(b":")[2]))
    return int(head.split(b" ", 2)[1])
