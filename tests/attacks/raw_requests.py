"""Requests as bytes, most of them wrong somewhere, from a seed."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode

METHODS = [
    "GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS",
]  # fmt: skip
ODD_METHODS = [
    "TRACE", "CONNECT", "get", "G\tET", "P" * 300, "\xe9", "PRI", "",
]  # fmt: skip
TARGETS = [
    "*", "//", "/%", "/%zz", "/%00", "/..%2f..", "/\xff", "http://h:1/v1/user", "h:443", "?",
    "/v1/user#x", "/" + "a" * 9000, "/v1/../login", "/%c3%28", "/v1//user", "", " ",
]  # fmt: skip
VERSIONS = [
    "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1", "", "HTTP/1.1 x", "\x00",
]  # fmt: skip
TYPES = [
    "application/x-www-form-urlencoded", "application/json", "text/plain",
    "multipart/form-data; boundary=x", "application/json; charset=utf-16", "\xff/*", "/", "",
]  # fmt: skip
FIELDS = [
    "email", "password", "username", "grant_type", "client_id", "client_secret", "token",
    "refresh_token", "scope", "current_password", "url", "csrf_token", "name", "next",
    "verification_url", "reset_url", "expires_in",
]  # fmt: skip
VALUES = [
    "", "x", "ann@example.com", "password", "refresh_token", "client_credentials", "\x00", "\ud800",
    "é", "a" * 5000, "a b", "%", "&", "=", "\r\n", "https://evil.example/", "-1", "1e999", "@",
    "=?utf-8?q?x?=", "\u202e", "../..", "{{7*7}}", "' OR 1=1 --",
]  # fmt: skip
JSON_BODIES = [
    "", "{", "[]", "null", "1e999", '"x"', "[" * 30000, '{"email":' * 9000, '{"a":1,"a":2}',
    '{"email":["x"]}', '{"email":{"$ne":1}}', "\ufeff{}", '{"email":"\\ud800"}', "NaN",
]  # fmt: skip
NOISE = [
    "\x00", "\xff", "\r", "\n", "\t", "\x7f", ":", ";", ",", "=", '"', "\\", "%", "é", "a" * 3000,
]  # fmt: skip
HEADERS = [
    "Cookie", "Authorization", "Accept", "Accept-Language", "Accept-Encoding", "Origin",
    "Sec-Fetch-Site", "Referer", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
    "Forwarded", "X-Request-Id", "Range", "If-None-Match", "If-Modified-Since", "Expect", "Upgrade",
    "User-Agent", "X-HTTP-Method-Override", "Content-Encoding", "TE", "Via", "X_Forwarded_For",
    "Content-Type", "Connection", "Max-Forwards", "Date",
]  # fmt: skip
HEADER_VALUES = [
    "", "x", "100-continue", "websocket", "h2c", "gzip", "bytes=0-1,5-", "null", "*/*;q=",
    "127.0.0.1", "for=\"[::1\"", "de;q=x,en", "Basic !!!", "Basic Og==", "Bearer", "Bearer at_",
    "authsite=x; authsite=y", "__Host-authsite=", "refreshToken=rt_x", "https://evil.example",
    "cross-site", "close", "keep-alive, x", "\xe9", "W/\"x",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """``data`` to send; ``whole``: it is framed as one request, so that an answer must come."""

    data: bytes
    whole: bool
    method: str
    path: str


def cases(random, paths, good, number):
    """``number`` cases; ``good`` are headers that let a request in, as (name, value)."""
    for _ in range(number):
        make = _pipelined if random.random() < 0.1 else _one
        yield make(random, paths, good)


def _one(random, paths, good):
    method, path = random.choice(METHODS), random.choice(paths)
    kind, body = _body(random)
    headers = [("Host", "localhost"), ("Content-Type", kind), *random.sample(good, 1)]
    headers += [_header(random) for _ in range(random.choice([0, 0, 1, 3]))]
    version, whole = "HTTP/1.1", True
    fault = random.random()
    if fault < 0.06:
        method = random.choice(ODD_METHODS)
    elif fault < 0.14:
        path = random.choice(TARGETS)
    elif fault < 0.18:
        version = random.choice(VERSIONS)
    elif fault < 0.22:
        headers[0] = ("Host", random.choice(HEADER_VALUES + NOISE))
    elif fault < 0.30:
        path += "?" + _form(random)
    framing, framed, right = _framed(random, method, body)
    end = "\n" if random.random() < 0.03 else "\r\n"
    lines = [f"{method} {path} {version}", *(f"{n}: {v}" for n, v in [*headers, *framing])]
    data = _bytes(end.join(lines) + end * 2) + framed
    if random.random() < 0.12:
        data, whole = _damaged(random, data), False
    odd = fault < 0.06 or 0.14 <= fault < 0.18
    broken = any("\r" in str(value) or "\n" in str(value) for _, value in headers)
    return Case(data, whole and right and not (odd or broken), method, path)


def _pipelined(random, paths, good):
    several = [_one(random, paths, good) for _ in range(random.randint(2, 5))]
    first = several[0]
    return Case(b"".join(case.data for case in several), False, first.method, first.path)


def _header(random):
    value = random.choice(HEADER_VALUES)
    for _ in range(random.choice([0, 0, 1, 2])):
        value += random.choice(NOISE)
    return random.choice(HEADERS), value


def _body(random):
    kind = random.choice(TYPES[:2]) if random.random() < 0.8 else random.choice(TYPES)
    if random.random() < 0.15:
        return kind, random.randbytes(random.choice([1, 50, 2000, 70_000]))
    if kind.startswith(TYPES[0]):
        return kind, _bytes(_form(random))
    if random.random() < 0.4:
        return kind, _bytes(random.choice(JSON_BODIES))
    return kind, json.dumps(dict(_pairs(random)), ensure_ascii=random.random() < 0.5).encode(
        errors="surrogatepass"
    )


def _form(random):
    text = urlencode(_pairs(random), errors="replace")
    return text if random.random() < 0.9 else text + random.choice(["&", "&=", "%", "&a", "%80"])


def _pairs(random):
    return [(random.choice(FIELDS), random.choice(VALUES)) for _ in range(random.randint(0, 6))]


def _framed(random, method, body):
    """Headers that frame ``body``, the body so framed, and whether they agree."""
    how = random.random()
    if method in ("GET", "HEAD") and how < 0.8:
        return [], b"", True
    if how < 0.7:
        return [("Content-Length", len(body))], body, True
    if how < 0.85:
        chunks = b"".join(
            b"%x\r\n%s\r\n" % (len(part), part)
            for part in (body[at : at + 700] for at in range(0, len(body), 700))
        )
        return [("Transfer-Encoding", "chunked")], chunks + b"0\r\n\r\n", True
    wrong = random.choice([
        [("Content-Length", len(body) + 5)],
        [("Content-Length", "-1")],
        [("Content-Length", "9" * 30)],
        [("Content-Length", len(body)), ("Content-Length", len(body) + 1)],
        [("Content-Length", len(body)), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity")],
        [("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "\x0bchunked")],
    ])  # fmt: skip
    chunks = [b"fffffffffffffffff\r\n", b"-1\r\n", b"5\r\nab\r\n", b"3;" + b"x" * 9000, b"0\r\nA"]
    return wrong, random.choice([body, random.choice(chunks)]), False


def _damaged(random, data):
    """Cut off, or with some bytes changed."""
    at = random.randrange(len(data))
    if random.random() < 0.5:
        return data[:at]
    return data[:at] + random.randbytes(random.choice([1, 1, 8])) + data[at + 1 :]


def _bytes(text):
    return (
        text.encode("utf-8", "surrogatepass")
        if max(text, default="") > "\xff"
        else text.encode("latin-1")
    )
