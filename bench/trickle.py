"""Slow and hostile clients, and a normal one, with what they measured. Times are in seconds."""

import asyncio
import contextlib
import itertools
import socket
import time

TIMEOUT = 5.0  # of the good client
HALF_HEAD = b"GET /v1/user HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
SLOW_BODY = (
    b"POST /v1/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\n"
)


class Drops:
    """How long the slow connections of one kind stayed open, and how many could not be opened."""

    def __init__(self):
        self.open_times, self.unopened = [], 0


async def hold_open(port, head, seconds, drops):
    """Say ``head``, then a byte a second; begin again whenever the server hangs up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.wait_for(
                asyncio.open_connection("127.0.0.1", port), TIMEOUT
            )
        except (OSError, TimeoutError):
            drops.unopened += 1
            await asyncio.sleep(1)
            continue
        began = time.monotonic()
        writer.write(head)
        answered = asyncio.create_task(_until_closed(reader))
        while not answered.done() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                writer.write(b"a")
            await asyncio.wait({answered}, timeout=1)
        if answered.done():
            drops.open_times.append(time.monotonic() - began)
        answered.cancel()
        writer.close()


async def paced(port, requests, rate, seconds, seen):
    """Send ``requests`` in turn, ``rate`` a second, whatever the answers do.

    ``seen`` gets (status or 0, seconds since the request was due). Every twentieth request of a
    connection is its last, so that the server reads a head again and again.
    """
    idle, under_way = [], set()
    began = time.monotonic()
    for number, request in enumerate(itertools.islice(itertools.cycle(requests), rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(max(0, due - time.monotonic()))
        task = asyncio.create_task(_one(port, request, due, idle, seen))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
    await asyncio.gather(*under_way)
    for _, writer, _ in idle:
        writer.close()


async def upload(port, head, parts, seen):
    """Send ``head`` and the byte strings ``parts`` while listening; stop at the answer.

    ``seen`` gets (status, or 0 for a connection that broke without one, seconds to the answer).
    On bare sockets: asyncio's streams forget what has arrived when sending fails.
    """
    loop, began, status = asyncio.get_running_loop(), time.monotonic(), 0
    with socket.socket() as connection:
        connection.setblocking(False)
        await loop.sock_connect(connection, ("127.0.0.1", port))

        async def send():
            with contextlib.suppress(OSError):
                for part in [head, *parts]:
                    await loop.sock_sendall(connection, part)

        sending = asyncio.create_task(send())
        with contextlib.suppress(OSError, TimeoutError, ValueError):
            answer = await asyncio.wait_for(loop.sock_recv(connection, 65536), TIMEOUT)
            status = int(answer[9:12])
        seen.append((status, time.monotonic() - began))
        sending.cancel()
        await asyncio.wait({sending})


async def _one(port, request, due, idle, seen):
    status, used = 0, 1
    writer = None
    try:
        async with asyncio.timeout(TIMEOUT):
            if idle:
                reader, writer, used = idle.pop()
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            status = int(head[9:12])
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        pass
    seen.append((status, time.monotonic() - due))
    if status and used < 20:
        idle.append((reader, writer, used + 1))
    elif writer:
        writer.close()


async def _until_closed(reader):
    with contextlib.suppress(OSError):
        while await reader.read(65536):
            pass
