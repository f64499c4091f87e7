"""The paths of `bench.growth` that read and write the tables of `bench.growth_tables`.

They run in this process, without a server, and password hashes take no time here. A time is that
of a whole request, with the wait for the database. The requests are those of people who were made
by the service just before, among the rows of the whole table.
"""

import json
import random
import statistics
import tempfile
import time
import uuid
from itertools import chain
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import text
from sqlalchemy.orm import Session

from authsite import main as authsite
from authsite.invitations import service as invitations
from authsite.oauth.clients import registration
from authsite.oauth.clients.fields import ClientFields
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context
from authsite.platform.http.request_info import RequestInfo
from authsite.users import identities

from . import filling, openid, seed
from .parts.child import hash_quickly
from .path import post, request
from .peers.app_code import code
from .peers.sign_ins import GROUP, SignIns

BASE = "http://localhost"
DELETION = "a user is deleted (all tables)"
CALLS = 50  # of one path in one round
DELETIONS = 10  # in one round: the small database has a thousand users
MFA = "urn:authsite:params:oauth:grant-type:mfa"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
CHANCE = random.Random(7)  # noqa: S311  no secrets here


class Paths:
    """An application on a filled database, and the requests that are measured."""

    def __init__(self, folder, url, size, rounds):
        self.users = size // filling.FAMILIES_PER_USER
        prefix = f"grown{uuid.uuid4().hex[:8]}."
        # A code of an app counts once, so each login is that of another person.
        made = SignIns(folder, url, BASE, prefix, with_app=2 * CALLS * (rounds + 1))
        self.made, self.filled = made, made.filled
        self.services = self.filled.services
        settings = {"secret": seed.SECRET, "database-url": url, "limits": "off", "base-url": BASE}
        settings |= {"openid": "on", "log-requests": "off", "registration": "invite"}
        self.app = authsite({}, **{f"authsite.{name}": value for name, value in settings.items()})
        self.members = made.members.read_text().split()
        self.tokens = self.filled.tokens.read_text().split()
        self.cookies = self.filled.cookies.read_text().splitlines()
        self.native = self._native()
        codes = self.filled.codes("growth", CALLS * (rounds + 1))
        self.codes = iter(codes.read_text().split())
        self.logins = iter(range(2 * CALLS * (rounds + 1)))
        self.to_delete = iter(range(self.users, self.users // 2, -1))  # the others stay

    def _native(self):
        fields = ClientFields(redirect_uris=("http://127.0.0.1/callback",))
        with Session(self.services.database.transactional) as db, db.begin():
            ctx = Context(self.services, RequestInfo, lambda: db)
            client, _ = registration.register(
                ctx, "tool", "native", openid.SCOPE, openid.SCOPE, fields
            )
            return str(client.id)

    def jobs(self):
        """Name -> one request; it names the table or tables that it is about."""
        return {
            "guard by session (web_sessions)": lambda: self._page("/v1/guard/web", 204),
            "guard with a group (group_members, labels)": lambda: self._read(
                f"/v1/guard/api?group={GROUP}", self.members
            ),
            "authorize (consents, authorization_codes)": lambda: self._page(
                self.filled.authorize, 302, 303
            ),
            "code exchange (authorization_codes, families)": lambda: post(
                self.app, next(self.codes)
            ),
            "userinfo": lambda: self._read("/v1/oauth/userinfo", self.tokens),
            "login with TOTP (totp_factors)": lambda: self._login(otp=code()),
            "password, then TOTP (pending_logins)": self._two_steps,
            "device grant (device_codes)": self._device,
            "security page (factors, passkeys, recovery_codes, remembered_browsers)": lambda: (
                self._page("/account/security", 200)
            ),
            "access page (sessions, consents, families, personal_tokens)": lambda: self._page(
                "/account/access", 200
            ),
            "activity page (audit_events)": lambda: self._page("/account/activity", 200),
            "who has this identity (identities)": self._identity,
            "invitation (invitations, outbox)": self._invite,
            DELETION: self._delete,
        }

    def _page(self, path, *accepted):
        cookie = CHANCE.choice(self.cookies)
        request(self.app, path, accepted=accepted, HTTP_COOKIE=cookie)

    def _read(self, path, tokens):
        token = CHANCE.choice(tokens)
        request(self.app, path, accepted=(200, 204), HTTP_AUTHORIZATION=f"Bearer {token}")

    def _login(self, **more):
        user = f"app.{self.made.prefix}{next(self.logins)}@example.com"
        form = f"{self.made.login}&{urlencode({'username': user, **more})}"
        return json.loads(post(self.app, form, accepted=(200, 400)))

    def _two_steps(self):
        token = self._login()["mfa_token"]
        given = {"grant_type": MFA, "mfa_token": token, "mfa_method": "totp", "code": code()}
        post(self.app, f"{self.made.keys}&{urlencode(given)}")

    def _device(self):
        asked = urlencode({"client_id": self.native, "scope": openid.SCOPE})
        started = json.loads(post(self.app, asked, "/v1/oauth/device"))
        form = {"grant_type": DEVICE, "client_id": self.native}
        form["device_code"] = started["device_code"]
        post(self.app, urlencode(form), accepted=(400,))  # it is not allowed yet

    def _identity(self):
        number = CHANCE.randint(1, self.users // 2)
        with Session(self.services.database.autocommit) as db:
            ctx = Context(self.services, RequestInfo, lambda: db)
            subject = db.scalar(text(f"SELECT (md5('user{number}')::uuid)::text"))
            assert identities.find(ctx, "https://idp.example.org", subject)

    def _invite(self):
        with Session(self.app.registry["authsite"].database.transactional) as db, db.begin():
            ctx = Context(self.app.registry["authsite"], RequestInfo, lambda: db)
            email = f"{uuid.uuid4().hex}@example.com"
            invitations.create(ctx, email, None, Cause("command"))

    def _delete(self):
        with self.services.database.transactional.begin() as connection:
            one = "DELETE FROM users WHERE id = md5('user' || CAST(:number AS text))::uuid"
            assert connection.execute(text(one), {"number": next(self.to_delete)}).rowcount == 1

    def end(self):
        """Close the connections."""
        self.services.database.dispose()
        self.app.registry["authsite"].database.dispose()


def measure(sites, rounds):
    """(url, size) of the small and of the large database; print the table."""
    hash_quickly()
    with tempfile.TemporaryDirectory(prefix="authsite-growth-") as name:
        paths = {}
        for url, size in sites:
            folder = Path(name) / str(size)
            folder.mkdir()
            paths[size] = Paths(folder, url, size, rounds)
        seen = {(job, size): [] for size, site in paths.items() for job in site.jobs()}
        for number in range(rounds + 1):
            for job in next(iter(paths.values())).jobs():
                for size in CHANCE.sample(list(paths), len(paths)):
                    count = DELETIONS if job == DELETION else CALLS
                    times = _times(paths[size].jobs()[job], count)
                    if number:  # the first round only warms up
                        seen[job, size].append(times)
        for site in paths.values():
            site.end()
    report(seen, list(paths))


def _times(call, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return times


def report(seen, sizes):
    """Print the table, as Markdown; by round: the median of the ratios of the rounds' medians."""
    small, large = sizes
    print(f"\n| path | {small:,}: p50 ms | {large:,}: p50 ms | p50 | p90 | p50 by round |")
    print("|---|---|---|---|---|---|")
    for job in dict.fromkeys(name for name, _size in seen):
        rounds = [seen[job, size] for size in sizes]
        cuts = [statistics.quantiles(chain.from_iterable(each), n=10) for each in rounds]
        by_round = statistics.median(
            statistics.median(grown) / statistics.median(little)
            for little, grown in zip(*rounds, strict=True)
        )
        middle = [cut[4] for cut in cuts]
        print(
            f"| {job} | {middle[0]:.2f} | {middle[1]:.2f} | {middle[1] / middle[0]:.2f} "
            f"| {cuts[1][8] / cuts[0][8]:.2f} | {by_round:.2f} |"
        )
