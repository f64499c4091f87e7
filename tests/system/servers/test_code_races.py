"""Two server processes on one database, at which one authorization code arrives many times."""

import time
from contextlib import contextmanager

import pytest

from authsite.sign_in import gate
from authsite.sign_in.sessions import service as sessions
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support import databases
from tests.support.acting import acting
from tests.support.codes import CALLBACK, VERIFIER, application, code_of, session_of
from tests.support.extent import volume
from tests.support.pair import pair
from tests.support.together import together

pytestmark = [pytest.mark.slow, pytest.mark.both_databases(each_value=True)]
RACERS = 8


@pytest.fixture
def two(backend, tmp_path):
    with signed_in_pair(backend, tmp_path) as servers:
        yield servers


@contextmanager
def signed_in_pair(backend, folder):
    """Two servers that can sign, and a browser session of Ann."""
    with pair(backend, folder, base_url="http://localhost") as servers:
        databases.empty(servers.site.database)
        for server in (servers.one, servers.other):
            wait_for_keys(server)
        site = servers.site
        site.user(confirmed=True)
        with site.db() as db:
            account = account_of(db.query(User).one())
            ctx = acting(db, site.app.registry["authsite"])
            assert sessions.begin(ctx, gate.without_proof(account), remember=False)
        yield servers


def wait_for_keys(server):
    """Until a server has signing keys.

    Making them may take longer than a request waits for it in another process, whose answer is 503.
    """
    until = time.monotonic() + 60
    while not server.get("/.well-known/jwks.json").json()["keys"]:
        assert time.monotonic() < until


def test_of_racers_with_one_code_one_gets_tokens_which_the_others_end(two):
    """One conditional UPDATE; the family has the id of the code."""
    site, number = two.site, volume(25, 500)
    app = application(site)
    session = session_of(site)
    won = []
    for _ in range(number):
        code = code_of(site, app, session=session)
        form = app.form(
            grant_type="authorization_code",
            code=code,
            redirect_uri=CALLBACK,
            code_verifier=VERIFIER,
        )
        servers = (two.one, two.other) * (RACERS // 2)
        answers = together(
            *(lambda s=s, form=form: s.post("/v1/oauth/token", data=form) for s in servers)
        )
        assert sorted(each.status_code for each in answers) == [200] + [400] * (RACERS - 1)
        refused = [each.json()["error"] for each in answers if each.status_code == 400]
        assert set(refused) == {"invalid_grant"}
        won += [each.json() for each in answers if each.status_code == 200]
    assert len(won) == len({each["access_token"] for each in won}) == number
    families = site.families()
    assert len(families) == number
    assert {family.revoked_why for family in families} == {"its code was reused"}
    assert site.events().count("code.reused") == number
    assert not any(two.alive(each["access_token"]) for each in won[:3])
