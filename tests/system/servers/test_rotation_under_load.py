"""Signing keys are rotated while two processes sign, and clients remember the keys for a day.

In real time, unlike `tests/oidc/keys/test_rotation.py`: the processes read the keys again after a
minute. A day of a client passes between the rotations, by the times in the rows of the keys.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import update

from authsite.oauth.oidc.keys.ring import KEEP
from authsite.oauth.oidc.keys.rotation import alone, rotate
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import transaction
from tests.support.codes import CALLBACK, VERIFIER, application, code_of, session_of
from tests.support.extent import ALL
from tests.system.servers.test_code_races import signed_in_pair

pytestmark = [
    pytest.mark.slow,
    pytest.mark.both_databases,
    pytest.mark.skipif(not ALL, reason="minutes of load: at night"),
]
ALGORITHMS = ("RS256", "ES256")
CLIENTS = 4  # each asks without a pause
READ_AGAIN = KEEP.total_seconds() + 5


@pytest.fixture
def two(backend, tmp_path):
    with signed_in_pair(backend, tmp_path) as servers:
        yield servers


def known_keys(server):
    return KeySet.import_key_set(server.get("/.well-known/jwks.json").json())


def sign_in(two, app, session, keys, number):
    """Redeem a code, and check the ID token with the keys that the client remembers."""
    server = (two.one, two.other)[number % 2]
    form = app.form(
        grant_type="authorization_code",
        code=code_of(two.site, app, session=session),
        redirect_uri=CALLBACK,
        code_verifier=VERIFIER,
    )
    answer = server.post("/v1/oauth/token", data=form)
    assert answer.status_code == 200, answer.text
    token = jwt.decode(answer.json()["id_token"], keys, algorithms=list(ALGORITHMS))
    return token.header["kid"]


def rotated(site):
    """A day and more has passed since the keys were made; then they are rotated."""
    services = site.app.registry["authsite"]
    with site.db() as db:
        db.execute(update(SigningKey).values(created_at=clock.now() - timedelta(days=3)))
        current = SigningKey.current_at.is_not(None)
        moment = clock.now() - timedelta(days=3)
        db.execute(update(SigningKey).where(current).values(current_at=moment))
    with alone(services.database), transaction(services) as ctx:
        return {rotate(ctx, alg).current for alg in ALGORITHMS}


def test_no_client_that_remembers_the_keys_for_a_day_refuses_a_token(two):
    session = session_of(two.site)
    apps = [application(two.site, id_token_alg=alg) for alg in ALGORITHMS]
    for _ in range(2):
        keys, seen, number = known_keys(two.one), set(), 0
        made = rotated(two.site)
        until = time.monotonic() + READ_AGAIN
        with ThreadPoolExecutor(CLIENTS) as pool:
            while time.monotonic() < until or not made <= seen:
                assert time.monotonic() < until + 60
                batch = range(number, number := number + 2 * CLIENTS)
                seen.update(
                    pool.map(
                        lambda n, keys=keys: sign_in(two, apps[n % 4 // 2], session, keys, n), batch
                    )
                )
        assert len(seen) == 2 * len(ALGORITHMS)  # the former keys, and those that follow them
