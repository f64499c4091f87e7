"""``python -m bench.second_factor``: what a login with an authenticator app costs beside the hash.

Milliseconds of CPU in this process, the best of the rounds: a login without a second factor, one
with the code of an app in the same request, and one in two steps. The clock stands still and moves
30 s before each login, since a code counts once.
"""

import argparse
import json
import logging
import tempfile
import time
from base64 import b32encode

import bcrypt
import pyotp
from webob import Request

from authsite.platform.db import migrate, open_database
from authsite.platform.runtime import clock
from tests.support import factors
from tests.support.frozen import FrozenClock
from tests.support.site import PASSWORD, Site

ROUNDS, LOGINS = 5, 60
MFA = "urn:authsite:params:oauth:grant-type:mfa"


def main():
    """Measure, and print the table."""
    options = argparse.ArgumentParser(prog="python -m bench.second_factor", description=__doc__)
    options.add_argument("--url", help="an empty database of your own (default: SQLite)")
    given = options.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as folder:
        report(measure(given.url or f"sqlite:///{folder}/bench.sqlite"))


def measure(url):
    """Milliseconds of CPU by name."""
    migrate.upgrade(open_database(url))
    site = Site(url, limits="on", **{"limits.login-address": "999999/hour"})
    frozen = FrozenClock()
    clock.now = frozen.now
    keys = site.client()
    site.user("ann@example.com", confirmed=True)
    bob = site.user("bob@example.com", confirmed=True)
    factors.add_totp(site, bob)
    app = pyotp.TOTP(b32encode(factors.KEY).decode())
    seen = {"hash": [], "password": [], "password and app": [], "password, then app": []}
    for _ in range(ROUNDS):
        seen["hash"].append(timed(hashed))
        seen["password"].append(timed(lambda: log_in(site, keys, "ann@example.com")))
        seen["password and app"].append(timed(lambda: at_once(site, keys, frozen, app)))
        seen["password, then app"].append(timed(lambda: with_app(site, keys, frozen, app)))
    return {name: min(times) for name, times in seen.items()}


def report(best):
    """Print the table, as Markdown."""
    print("| what | ms of CPU | beside the hash |")
    print("|---|---|---|")
    for name, value in best.items():
        print(f"| {name} | {value:.2f} | {value - best['hash']:.2f} |")


def timed(call):
    """Milliseconds of CPU of one call."""
    call()
    began = time.process_time()
    for _ in range(LOGINS):
        call()
    return (time.process_time() - began) / LOGINS * 1000


STORED = bcrypt.hashpw(b"x" * 64, bcrypt.gensalt(10))


def hashed():
    """One hash of the cost of the site."""
    bcrypt.checkpw(b"x" * 64, STORED)


def log_in(site, keys, name):
    """The answer of the password grant."""
    return post(site, keys.form(grant_type="password", username=name, password=PASSWORD))


def with_app(site, keys, frozen, app):
    """Both steps."""
    frozen.advance(30)
    token = log_in(site, keys, "bob@example.com")["mfa_token"]
    form = keys.form(grant_type=MFA, mfa_token=token, mfa_method="totp", code=app.at(clock.now()))
    if "access_token" not in post(site, form):
        raise SystemExit("the second step gave no tokens")


def at_once(site, keys, frozen, app):
    """Both proofs in one request."""
    frozen.advance(30)
    given = {"username": "bob@example.com", "password": PASSWORD, "otp": app.at(clock.now())}
    if "access_token" not in post(site, keys.form(grant_type="password", **given)):
        raise SystemExit("the login gave no tokens")


def post(site, form):
    """The JSON of the token endpoint."""
    request = Request.blank("/v1/oauth/token", POST=form)
    return json.loads(request.get_response(site.app).body)


if __name__ == "__main__":
    main()
