"""A request counts where it was meant: a page of another site spends none of its visitor's limits.

The walks through every view are the honest programs and pages. What they count is sent again as a
page of another site can send it, and may count nothing then; and as a program and a page of ours,
and has to count.
"""

import itertools
import json
import re
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from webtest import TestApp

from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.providers.people import go
from tests.support import databases
from tests.support.authorizing import OPENID, authorize, sign_in
from tests.support.counting import watched
from tests.support.documents import described
from tests.support.fake_provider import fake_provider
from tests.support.site import Site
from tests.support.walk import SETTINGS, walk
from tests.support.walk_admin import WALKED, administration

COUNTED = {"limits": "on", "limits_storage": "database"}
FORM = "application/x-www-form-urlencoded"
OWN = "http://localhost"
EVIL = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
NO_CORS = {**EVIL, "Sec-Fetch-Mode": "no-cors"}
FOREIGN = {
    "image": {**NO_CORS, "Sec-Fetch-Dest": "image"},
    "fetch": {**NO_CORS, "Sec-Fetch-Dest": "empty"},
    "frame": {**EVIL, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    "form": {**EVIL, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
}
PROGRAM = {}
PAGE = {"Origin": OWN, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
# A link or form of an application leads a browser there, which is what it is for.
NAVIGATED = ("authsite.authorize",)
OPEN = {
    "client-auth", "device-start", "forgot-address", "login-address", "register-address",
    "registration-address", "reset-token",
}  # fmt: skip
"""Limits that anyone can spend with a request to the API."""
FIRST_KEYS = {"authsite.jwks"}
"""Whose first request makes the signing keys."""
ADDRESSES = itertools.count(1)


def again(site, sent, headers):
    """The limits at which a request counts that is sent again, without cookies, from elsewhere."""
    body, content = sent.body, sent.content_type or FORM
    if headers in FOREIGN.values():  # a page of another site can send forms, and no JSON
        if content.startswith("application/json"):
            values = json.loads(body or b"{}")
            texts = {key: each for key, each in values.items() if isinstance(each, str)}
            body = urlencode(texts).encode()
        content = FORM
    browser = TestApp(site.app, extra_environ={"REMOTE_ADDR": f"203.0.113.{next(ADDRESSES) % 250}"})
    with watched(site) as seen:
        browser.request(
            sent.path,
            method=sent.method,
            body=b"" if sent.method == "GET" else body,
            headers={**headers, "Content-Type": content},
            status="*",
        )
    return set().union(*(each.limits for each in seen))


def spending(site):
    """The routes whose GET refuses what a browser only fetches ahead."""
    found = site.app.registry.introspector.get_category("views")
    views = [each["introspectable"] for each in found]
    return {each["route_name"] for each in views if each.get("spends")}


def ways_of(seen):
    """One request for each limit that counted, route and method."""
    return {
        (name, each.route, each.method): each for each in reversed(seen) for name in each.limits
    }


@contextmanager
def with_provider(url):
    """A site, and a walk to its provider, back, and back once more."""
    with fake_provider("oidc") as fake:
        site = Site(url, **COUNTED, **fake.settings(), providers=fake.name)
        databases.empty(site.database)

        def walk(site):
            back = fake.authorize(go(site, fake.name))
            site.http.get(back, status=303)
            site.http.get(back, status=400)

        yield site, walk
        site.database.dispose()


@contextmanager
def with_document(url, monkeypatch, folder):
    """A site, and a walk to an application that a document describes."""
    with described(monkeypatch, folder) as there:
        site = Site(url, **COUNTED, **OPENID, client_id_documents="*")
        databases.empty(site.database)

        def walk(site):
            site.user(confirmed=True)
            sign_in(site)
            authorize(site, there.application)

        yield site, walk
        site.database.dispose()


def public(site):
    walk(site, site.first_party("web"))


def replayed(site, honest, *, open_to_all=True):
    """The limits that an ``honest`` walk counts, after all of it was sent again."""
    twice = set()
    with watched(site) as seen:
        honest(site)
    gets = [each for each in seen if each.method == "GET" and each.wrote and not each.token]
    written = {each.route for each in gets} - FIRST_KEYS
    assert written <= spending(site), "a prefetch must not do that: spends=True"
    counted = ways_of(seen)
    for (name, route, method), sent in counted.items():
        for kind, headers in FOREIGN.items():
            if kind != "form" or (method != "GET" and route not in NAVIGATED):
                assert again(site, sent, headers) == set(), (name, route, method, kind)
        if sent.path.startswith("/v1/") and not sent.token:
            program = again(site, sent, PROGRAM)  # which may have used up what works once
            assert again(site, sent, PAGE) == program, (route, method)
            twice |= program
    assert twice >= OPEN or not open_to_all
    return {name for name, _route, _method in counted}


def test_pages_of_other_sites_count_nowhere(site_with, database_url, monkeypatch, tmp_path):
    """A new limit needs a request in one of the walks, or it is missing at the end."""
    counted = set()
    with with_provider(database_url) as others:
        counted |= replayed(*others, open_to_all=False)
    with with_document(database_url, monkeypatch, tmp_path) as others:
        counted |= replayed(*others, open_to_all=False)
    counted |= replayed(site_with(**{**SETTINGS, "base_url": OWN}), public)
    counted |= replayed(site_with(**WALKED), administration, open_to_all=False)
    assert set(RATE_LIMITS) - counted == set()


def test_the_documentation_says_of_each_limit_what_counts():
    text = (Path(__file__).parents[2] / "docs/limits.md").read_text(encoding="utf-8")
    section = text.partition("## Which requests count")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = [name for cell in rows for name in re.findall(r"`([\w-]+)`", cell)]
    assert sorted(named) == sorted(RATE_LIMITS)
