"""A steady mix of requests from clients that keep their tokens, and what they were answered.

The rate does not depend on the answers. A client whose refresh was not answered tries the same
token again, as a careful application does.
"""

import asyncio
import itertools
import json
import random
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

PASSWORD = "green otter 31 lamp"  # not the example that the server prints at its start
RESET_PAGE = "https://app.example.com/reset"
RATES = {"guard": 26, "refresh": 10, "login": 4, "forgot": 0.5}  # a second: 40, as R1 has them
TIMEOUT = 30  # seconds for an answer; a browser waits longer
# Seconds for which a connection may be unused. nginx closes it after 75, perhaps while the next
# request is on its way (RFC 9112, section 9.3.1).
UNUSED = 30
TOKEN = "/v1/oauth/token"


@dataclass(frozen=True)
class Answer:
    """What one request got. ``at``: when it was due, since the start.

    ``status`` 0: no answer; ``error`` is then ``refused`` (no connection) or ``broken``.
    """

    kind: str
    at: float
    seconds: float
    status: int
    retry_after: str | None
    error: str | None

    @property
    def end(self):
        """When the answer came, in seconds since the start."""
        return self.at + self.seconds


@dataclass
class Session:
    """A login of a client, with the tokens of its last good answer.

    ``lost``: whether the last refresh had no good answer. ``regained``: how often the token of a
    lost refresh was accepted again.
    """

    access: str
    refresh: str
    lost: bool = False
    regained: int = 0
    rejected: list = field(default_factory=list)


class Traffic:
    """Requests to ``port`` at `RATES` on a separate thread, until `stop`."""

    def __init__(self, port, client, sessions, rates=RATES, seed=1):
        self.port, self.client, self.rates = port, client, rates
        self.sessions = [Session(**each) for each in sessions]
        self.made = []  # the access tokens of logins during the run
        self.ended = []  # the access tokens of logouts that were answered 200
        self.answers = []
        self._free = list(self.sessions)
        self._chance = random.Random(seed)  # noqa: S311  no secrets here
        self._idle, self._under_way = [], set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self):
        self.began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_failure):
        self._stop.set()
        self._thread.join()

    def now(self):
        """Seconds since the start."""
        return time.monotonic() - self.began

    def under_way(self):
        """How many requests have no answer yet."""
        return len(self._under_way)

    def during(self, begin, end, *kinds):
        """The answers of requests that were due from ``begin`` to ``end``."""
        return [a for a in self.answers if begin <= a.at < end and (not kinds or a.kind in kinds)]

    async def _run(self):
        await asyncio.gather(*(self._stream(kind, rate) for kind, rate in self.rates.items()))
        if self._under_way:
            await asyncio.wait(self._under_way)
        for _until, _reader, writer in self._idle:
            writer.close()

    async def _stream(self, kind, rate):
        send = getattr(self, f"_{kind}")
        for number in itertools.count():
            due = self.began + (number + self._chance.random() / 2) / rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            if self._stop.is_set():
                return
            task = asyncio.create_task(send(due))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _guard(self, due):
        session = self._chance.choice(self.sessions)
        await self._send("guard", due, b"GET", "/v1/user", bearer=session.access)

    async def _login(self, due):
        form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
        answer, body = await self._send("login", due, b"POST", TOKEN, form=form | self.client)
        if answer.status == 200:
            self.made.append(body["access_token"])

    async def _logout(self, due):
        if len(self.made) > 1:
            token = self.made.pop(0)
            answer, _ = await self._send("logout", due, b"DELETE", "/v1/logout/", bearer=token)
            if answer.status == 200:
                self.ended.append(token)

    async def _forgot(self, due):
        form = {"email": "ann@example.com", "reset_url": RESET_PAGE}
        await self._send("forgot", due, b"POST", "/v1/password/forgot", form=form)

    async def _refresh(self, due):
        if not self._free:
            return
        # A client that lost the response tries again soon, since the token is accepted again only
        # within the grace.
        lost = (number for number, each in enumerate(self._free) if each.lost)
        session = self._free.pop(next(lost, self._chance.randrange(len(self._free))))
        form = {"grant_type": "refresh_token", "refresh_token": session.refresh} | self.client
        answer, body = await self._send("refresh", due, b"POST", TOKEN, form=form)
        if answer.status == 200:
            session.access, session.refresh = body["access_token"], body["refresh_token"]
            session.regained += session.lost
            session.lost = False
        elif answer.status in (400, 401):
            session.rejected.append(answer)
        else:
            session.lost = True
            await asyncio.sleep(0.5)  # and then the same token again, when its turn comes
        self._free.append(session)

    async def _send(self, kind, due, method, path, *, form=None, bearer=None, jar=None, to=None):
        """The `Answer`, and what the JSON says.

        ``jar``: the cookies of a browser, which keeps those of the answer, too. ``to``: how the
        address begins that the answer redirects to. Such an answer counts as 200 and is returned as
        ``location``; any other redirect, as to the login page, counts as 401.
        """
        lines = [f"{method.decode()} {path} HTTP/1.1", "Host: localhost"]
        body = urlencode(form).encode() if form else b""
        if bearer:
            lines.append(f"Authorization: Bearer {bearer}")
        if jar:
            lines.append(f"Cookie: {'; '.join(f'{name}={value}' for name, value in jar.items())}")
        if form:
            lines += ["Content-Type: application/x-www-form-urlencoded",
                      f"Content-Length: {len(body)}"]  # fmt: skip
        request = "\r\n".join([*lines, "", ""]).encode() + body
        failure = None
        try:
            status, headers, text = await asyncio.wait_for(self._exchange(request), TIMEOUT)
        except ConnectionRefusedError:
            status, headers, text, failure = 0, {}, b"", "refused"
        except (OSError, EOFError, TimeoutError):
            status, headers, text, failure = 0, {}, b"", "broken"
        if jar:
            jar |= dict(
                each.partition(";")[0].split("=", 1) for each in headers.get("set-cookie", [])
            )
        parsed = json.loads(text) if headers.get("content-type") == "application/json" else {}
        if 300 <= status < 400:
            parsed = {"location": headers["location"]}
            status = 200 if to and headers["location"].startswith(to) else 401
        seconds = time.monotonic() - due
        code = failure or parsed.get("error") or parsed.get("code")
        answer = Answer(kind, due - self.began, seconds, status, headers.get("retry-after"), code)
        self.answers.append(answer)
        return answer, parsed

    async def _exchange(self, request):
        while self._idle:
            until, reader, writer = self._idle.pop()
            if time.monotonic() < until and not (reader.at_eof() or writer.is_closing()):
                break
            writer.close()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            lines = [line.partition(":") for line in head[1:] if line]
            headers = {name.lower(): value.strip() for name, _, value in lines}
            headers["set-cookie"] = [v.strip() for n, _, v in lines if n.lower() == "set-cookie"]
            text = await reader.readexactly(int(headers.get("content-length", 0)))
        except BaseException:
            writer.close()
            raise
        self._idle.append((time.monotonic() + UNUSED, reader, writer))
        return int(head[0].split(" ")[1]), headers, text


def p(answers, share):
    """The milliseconds within which ``share`` (0 to 1) of ``answers`` came."""
    times = sorted(answer.seconds for answer in answers)
    return 1000 * times[min(len(times) - 1, int(share * len(times)))] if times else 0.0


def good(answer):
    """Whether the request succeeded."""
    return 200 <= answer.status < 300


def invalid(answers):
    """The answers that would make a client discard valid tokens."""
    return [a for a in answers if a.status in (400, 401, 403) or a.error == "invalid_grant"]


def other_than_503(answers):
    """The failures that are not 503 with Retry-After."""
    return [a for a in answers if not good(a) and not (a.status == 503 and a.retry_after)]
