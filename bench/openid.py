"""``python -m bench.openid --url postgresql://…``: what signs people in to applications.

Authorization requests, the exchange of codes, and userinfo, beside client credentials and the
guard, interleaved in one run, on an empty database. Every rate is the median; the ratios have their
interval over the rounds. The exchange is also given without the time of its one signature, which is
measured in this process.
"""

import argparse
import os
import statistics
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode

from sqlalchemy import insert
from sqlalchemy.orm import Session

from authsite.oauth.clients import registered, registration
from authsite.oauth.clients.fields import ClientFields
from authsite.oauth.codes.service import CODE, NewCode, SignInFacts, add
from authsite.oauth.consents import service as consents
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.keys import ring, rotation
from authsite.oauth.tokens.format import expiry
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.context import Context, make_services
from authsite.platform.crypto.sealed import IdText
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.runtime import clock
from authsite.platform.settings import load as load_settings
from authsite.sign_in.gate import without_proof
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.account import account_of
from authsite.users.models import LoginName, User

from . import load, machine, seed

PEOPLE = 200
SCOPE = "openid email profile"
CALLBACK = "https://client.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # of RFC 7636, appendix B
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
CODES_PER_SECOND = 2500  # more than a run can use
SETTINGS = {"code_expires_in": "10m", "openid": "on"}


def main():
    """Run everything and print one table."""
    options = argparse.ArgumentParser(prog="python -m bench.openid", description=__doc__)
    options.add_argument("--url", required=True, help="an empty database; it is filled")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=4, help="of one run")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        measure(Path(name), given.url, given.rounds, given.seconds)


def measure(folder, url, rounds, seconds):
    """The table."""
    port = machine.free_port()
    base = f"http://localhost:{port}"
    ini = seed.ini(folder, url, base_url=base, **SETTINGS)
    files, _pools, _keys = seed.fill(folder, url, 0)
    made = Filled(folder, url, base)
    serve = ("-m", "authsite", "serve", "--workers", 2, "--config", ini, "--port", port)
    token = {"method": "POST", "path": "/v1/oauth/token"}
    jobs = {
        "client credentials": lambda _: {**token, "bodies": files["credentials"]},
        "guard (forward auth)": lambda _: {"path": "/v1/guard/api", "tokens": files["access"]},
        "userinfo": lambda _: {"path": "/v1/oauth/userinfo", "tokens": made.tokens},
        "authorize": lambda _: {"path": made.authorize, "cookies": made.cookies},
        "code exchange": lambda number: {
            **token,
            "bodies": made.codes(number, CODES_PER_SECOND * seconds),
        },
    }
    seen = {name: [] for name in jobs}
    with machine.process(*serve, port=port, AUTHSITE_ENV_FILE=os.devnull):
        time.sleep(2)
        for number in range(rounds):
            for name, job in jobs.items():
                seen[name].append(load.run(port, seconds=seconds, **job(number)))
    report(seen, made.signature)


class Filled:
    """People who are signed in and have allowed one client, and files for wrk."""

    def __init__(self, folder, url, base, prefix="person"):
        """``prefix``: of the addresses, which must be new."""
        self.folder, self.prefix = folder, prefix
        secret = {"authsite.secret": seed.SECRET, "authsite.database-url": url}
        more = {"authsite.limits": "off", "authsite.base-url": base}
        more |= {f"authsite.{key.replace('_', '-')}": value for key, value in SETTINGS.items()}
        self.services = make_services(load_settings({**secret, **more}, {}))
        with Session(self.services.database.transactional, expire_on_commit=False) as db:
            self.ctx = Context(self.services, RequestInfo, lambda: db)
            with db.begin():
                people = [account_of(user) for user in self._people(db)]
                fields = ClientFields(redirect_uris=(CALLBACK,))
                client, self.secret = registration.register(
                    self.ctx, "app", "server", SCOPE, SCOPE, fields
                )
                client_id = str(client.id)
            rotation.make_missing(self.services)
            with db.begin():
                keys = [
                    sessions.begin(self.ctx, without_proof(each), remember=False) for each in people
                ]
                for each in people:
                    consents.give(self.ctx, each.id, client.id, SCOPE)
            self.client = registered.find(self.ctx, client_id)
            self.people = people
            ids = [each.id for each in people]
            own = db.query(BrowserSession).filter(BrowserSession.user_id.in_(ids))
            self.rows = {row.user_id: row for row in own}
        self.cookies = self._write("cookies", (f"authsite={key}" for key in keys))
        self.authorize = "/oauth/authorize?" + urlencode(
            {
                "client_id": client_id, "response_type": "code", "redirect_uri": CALLBACK,
                "scope": SCOPE, "state": "s", "nonce": "n",
                "code_challenge": CHALLENGE, "code_challenge_method": "S256",
            }
        )  # fmt: skip
        ref = ClientRef(client.id, client.epoch)
        issued = [issue(self.ctx, ref, without_proof(each), SCOPE) for each in people]
        self.tokens = self._write("tokens", (pair.access_token for pair in issued))

    def _people(self, db):
        now = clock.now()
        for number in range(PEOPLE):
            email = f"{self.prefix}{number}@example.com"
            user = User(
                id=uuid.uuid4(),
                email=email,
                created_at=now,
                updated_at=now,
                email_verified_at=now,
                origin="registered",
            )
            db.add(user)
            db.flush()
            db.execute(insert(LoginName).values(key=email, kind="email", user_id=user.id))
            yield user

    def codes(self, name, count):
        """A file of exchanges, each of one new code; never twice of one person in a row."""
        form = {
            "grant_type": "authorization_code", "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER, "client_id": str(self.client.id),
            "client_secret": self.secret,
        }  # fmt: skip
        tail = "&" + urlencode(form)
        bodies = []
        with Session(self.services.database.transactional) as db, db.begin():
            ctx = Context(self.services, RequestInfo, lambda: db)
            for turn in range(count):
                account = self.people[turn % PEOPLE]
                row = self.rows[account.id]
                session = SignInFacts(row.id, row.facts, row.auth_at, row.recognized)
                new = NewCode(self.client, account, session, CALLBACK, CHALLENGE, SCOPE, None, "n")
                code_id, until = (
                    uuid.uuid4(),
                    expiry(clock.now(), self.services.settings.code_expires_in),
                )
                add(ctx, new, code_id, until)
                text = CODE.encode(self.services.keys, IdText(code_id, int(until.timestamp())))
                bodies.append(f"code={text}{tail}")
        return self._write(f"codes.{name}", bodies)

    @property
    def signature(self):
        """Seconds of one ID token's signature: the best mean of seven."""
        ring.require_signers(self.ctx, "RS256")
        claims = {"sub": str(uuid.uuid4()), "aud": str(self.client.id), "nonce": "n"}
        best = []
        for _ in range(7):
            began = time.process_time()
            for _ in range(50):
                id_tokens.sign(self.ctx, claims, "RS256")
            best.append((time.process_time() - began) / 50)
        return min(best)

    def _write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path


def report(seen, signature):
    """Print the table, as Markdown."""
    print(f"{machine.describe()}; one RS256 signature {1e6 * signature:.0f} µs\n")
    print("| what | per second | of client credentials | of the guard |")
    print("|---|---|---|---|")
    credentials, guard = seen["client credentials"], seen["guard (forward auth)"]
    for name, loads in seen.items():
        wrong = sum(each.refused + each.broken for each in loads)
        note = f" ({wrong} wrong answers!)" if wrong else ""
        rate = load.mean_rate(loads)
        print(
            f"| {name}{note} | {rate:,.0f} | {ratio(loads, credentials)} | {ratio(loads, guard)} |"
        )
    # Two processes on two cores: a signature takes its share of one of them.
    without = [1 / (1 / each.rate - signature / 2) for each in seen["code exchange"]]
    ratios = [rate / other.rate for rate, other in zip(without, credentials, strict=True)]
    print(f"\ncode exchange without its signature, of client credentials: {interval(ratios)}")


def ratio(loads, others):
    """The ratios of the rounds."""
    return interval([a.rate / b.rate for a, b in zip(loads, others, strict=True)])


def interval(ratios):
    """The median, and the lowest and the highest."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


if __name__ == "__main__":
    main()
