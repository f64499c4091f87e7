"""Traefik and Caddy as their documentation describes them, with the configurations in examples/.

Each has ``ask(method, path, headers)``: the response of authsite that the client gets, or the
headers with which the request reaches the application.
"""

import re
from fnmatch import fnmatchcase

import yaml

from tests.support.installed import CHECKOUT

EXAMPLES = CHECKOUT / "examples"
ORIGIN = "http://localhost:8080"
CLIENT = "203.0.113.9"


class Headers(dict):
    """Request headers by lower-case name."""

    def __init__(self, headers):
        super().__init__({name.lower(): value for name, value in headers.items()})


class Forwarding:
    """What both do: they ask with GET and the headers of the request, and copy headers of a 2xx."""

    def __init__(self, site):
        self.site = site

    def ask(self, method, path, headers=()):
        headers = Headers(dict(headers))
        cleaned, target, copied = self.way(path, headers)
        headers = {name: value for name, value in headers.items() if name not in cleaned}
        asked = {
            **headers,
            "x-forwarded-method": method,
            "x-forwarded-proto": "http",
            "x-forwarded-host": "localhost:8080",
            "x-forwarded-uri": path,
            "x-forwarded-for": CLIENT,
            "host": self.host,
        }
        answer = self.site.http.get(
            target, headers=asked, extra_environ={"REMOTE_ADDR": "127.0.0.1"}, status="*"
        )
        if not 200 <= answer.status_int < 300:
            return answer
        given = Headers(answer.headers)
        names = [name.lower() for name in copied]
        own = {name: value for name, value in headers.items() if name not in names}
        return own | {name: given[name] for name in names if given[name]}


class Traefik(Forwarding):
    """ForwardAuth, of version 3; the router with the longest rule counts."""

    host = "127.0.0.1:6543"

    def __init__(self, site):
        super().__init__(site)
        self.dynamic = yaml.safe_load((EXAMPLES / "traefik" / "dynamic.yml").read_text())["http"]

    def way(self, path, _headers):
        routers = sorted(self.dynamic["routers"].values(), key=lambda each: -len(each["rule"]))
        prefix = re.compile(r"PathPrefix\(`([^`]*)`\)")
        starts = [(prefix.fullmatch(each["rule"])[1], each) for each in routers]
        router = next(each for start, each in starts if path.startswith(start))
        removed, target, copied = set(), None, ()
        for name in router.get("middlewares", ()):
            [(kind, options)] = self.dynamic["middlewares"][name].items()
            if kind == "headers":
                values = options["customRequestHeaders"].items()
                removed |= {name.lower() for name, value in values if value == ""}
            else:
                assert kind == "forwardAuth"
                assert set(options) == {"address", "authResponseHeaders"}
                target = options["address"].removeprefix(f"http://{self.host}")
                copied = options["authResponseHeaders"]
        return removed, target, copied


class Caddy(Forwarding):
    """forward_auth: it keeps the Host, and the query if ``uri`` has no "?"."""

    host = "localhost:8080"

    def __init__(self, site):
        super().__init__(site)
        text = (EXAMPLES / "caddy" / "Caddyfile").read_text()
        self.text = re.sub(r"(?m)^\s*#.*\n", "", text)
        self.deleted = re.findall(r"request_header -(\S+)", self.text)
        blocks = re.findall(r"handle (\S*) ?\{\n(.*?)\n\t\t\}\n", self.text, re.DOTALL)
        self.blocks = [(matcher or "*", block) for matcher, block in blocks]

    def way(self, path, headers):
        block = next(block for matcher, block in self.blocks if fnmatchcase(path, matcher))
        patterns = [pattern.lower() for pattern in self.deleted]
        removed = {name for name in headers if any(fnmatchcase(name, each) for each in patterns)}
        [uri] = re.findall(r"\buri (\S+)", block)
        [copied] = re.findall(r"copy_headers (.*)", block)
        query = path.partition("?")[2]
        target = uri if "?" in uri or not query else f"{uri}?{query}"
        return removed, target, copied.split()
