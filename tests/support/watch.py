"""Sees what must never happen: in browsers, in the logs of servers, and in mails."""

import json
import re
from urllib.parse import unquote, urlsplit

from tests.support.mails import html_of, read_folder, text_of

_LINK = re.compile(r"""https?://[^\s"'<>]+""", re.IGNORECASE)
_ERROR = re.compile(r"Traceback|\b(?:error|critical)\b", re.IGNORECASE)


class Watch:
    """``faults`` is a list of sentences; ``hosts`` are the names that anything may lead to."""

    def __init__(self, hosts, access_log, server_logs):
        self.hosts = frozenset(hosts)
        self.faults = []
        self._access, *self._servers = [_Tail(log) for log in (access_log, *server_logs)]

    def browser(self, context, *hosts, statuses=(422,), expected=None):
        """Watch a browser that asks only ``hosts``, whose answers may have these statuses.

        ``expected`` is a pattern of what the browser says and the test wants.
        """
        allowed = "|".join(rf"responded with a status of {status}\b" for status in statuses)
        Browser(self, context, frozenset(hosts), re.compile(f"{allowed}|{expected or '(?!)'}"))

    def mails(self, folder, host):
        """The mails that came to ``folder``, oldest first; every link must be at ``host``."""
        found = read_folder(folder)
        for mail in found:
            words = f"{text_of(mail)}\n{html_of(mail)}"
            for link in set(_LINK.findall(f"{words}\n{unquote(words)}")):
                if not f"{link}/".startswith(f"https://{host}/"):
                    self.faults.append(f"the mail {mail['Subject']!r} links to {link}")
        return found

    def look_at_logs(self):
        """Read what servers wrote since the last call."""
        for line in self._access.lines():
            status, host, method, target, location, _ = line.split("\t")
            if status.startswith("5"):
                self.faults.append(f"{method} https://{host}{target} was answered with {status}")
            if location != "-":
                self.led_to(f"https://{host}{target}", location)
        for tail in self._servers:
            self.faults += [
                f"{tail.path.parent.name}/{tail.path.name}: {line}"
                for line in tail.lines()
                if _is_fault(line)
            ]

    def led_to(self, url, location):
        """Note a ``Location`` that is neither a path nor https at one of the public hosts."""
        target = urlsplit(location)
        path = target.path.startswith("/") and not target.netloc and not target.scheme
        if not path and (target.scheme != "https" or target.netloc not in self.hosts):
            self.faults.append(f"{url} led to {location}")


def _is_fault(line):
    """Whether a line of a log reports a fault of the server, not a request that was rejected."""
    if line.startswith("{"):
        event = json.loads(line)
        return "exception" in event or event.get("level") in ("error", "critical")
    return bool(_ERROR.search(line))


class Browser:
    """Watches one browser context."""

    def __init__(self, watch, context, hosts, expected):
        self._watch, self._hosts, self._expected = watch, hosts, expected
        context.on("request", self._asked)
        context.on("requestfailed", self._failed)
        context.on("response", self._answered)
        context.on("console", self._heard)
        context.on("weberror", lambda error: self._fault(str(error.error)))

    def _fault(self, text):
        if not self._expected.search(text):
            self._watch.faults.append(f"browser: {text}")

    def _asked(self, request):
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc not in self._hosts:
            self._fault(f"asked another host: {request.method} {request.url}")
        elif url.scheme == "http":
            self._fault(f"asked without TLS: {request.method} {request.url}")

    def _failed(self, request):
        if "ERR_ABORTED" not in (request.failure or ""):  # the reader had gone on already
            self._fault(f"{request.method} {request.url}: {request.failure}")

    def _answered(self, response):
        if response.status >= 500:
            self._fault(f"{response.status} from {response.url}")
        location = response.headers.get("location")
        if location is not None:
            self._watch.led_to(response.url, location)

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self._fault(f"console at {message.location['url']}: {message.text}")


class _Tail:
    """A file that grows."""

    def __init__(self, path):
        self.path, self._read = path, 0

    def lines(self):
        """The whole lines that are new."""
        with open(self.path, "rb") as file:
            file.seek(self._read)
            text = file.read().rpartition(b"\n")[0]
        self._read += len(text) + 1 if text else 0
        return text.decode(errors="replace").splitlines()
