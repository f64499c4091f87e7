"""Two server processes on one database: whichever request comes first, there is one outcome."""

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import cycle
from time import sleep
from uuid import UUID

import pytest

from authsite.oauth.clients import service as clients
from authsite.oauth.models import Family
from authsite.oauth.tokens.format import ACCESS
from authsite.platform.runtime import clock
from authsite.users import service as users
from authsite.users.models import User
from tests.support import databases
from tests.support.acting import acting
from tests.support.codec import TokenCodec
from tests.support.extent import volume
from tests.support.pair import pair
from tests.support.site import SECRET, bearer
from tests.support.together import together

pytestmark = [pytest.mark.slow, pytest.mark.both_databases(each_value=True)]
ROUNDS = volume(3, 20)


@pytest.fixture(scope="module")
def servers(backend, tmp_path_factory):
    """Both servers, started once for this file."""
    with pair(backend, tmp_path_factory.mktemp("races")) as made:
        yield made


@pytest.fixture
def two(servers):
    """Both servers on an empty database, with Ann and two clients."""
    databases.empty(servers.site.database)
    servers.ann = servers.site.user()
    servers.other_hash = servers.site.app.registry["authsite"].passwords.hash("another lamp 42")
    servers.web = servers.site.client("password")
    servers.machine = servers.site.client("personal")
    return servers


def on_both(two, times, call):
    """``call(server)`` this number of times at once, on the two servers in turn."""
    servers = cycle([two.one, two.other])
    chosen = [next(servers) for _ in range(times)]
    return together(*(lambda server=server: call(server) for server in chosen))


@pytest.mark.control("T12")
def test_parallel_refreshes_of_one_token_end_in_one_successor_pair(two):
    for _ in range(ROUNDS):
        token = two.issue(two.machine)["refresh_token"]
        answers = on_both(two, 20, lambda server, t=token: two.refresh(two.machine, t, server))
        assert {answer.status_code for answer in answers} == {200}
        pairs = {(a.json()["access_token"], a.json()["refresh_token"]) for a in answers}
        assert len(pairs) == 1
        [(access, successor)] = pairs
        assert two.alive(access)
        assert two.refresh(two.machine, successor).status_code == 200
    families = two.site.families()
    assert [family.generation for family in families] == [2] * ROUNDS  # and one row for each


@pytest.mark.control("T12")
def test_an_older_token_revokes_the_family_on_both_servers_for_good(two):
    first = two.issue(two.machine)
    second = two.refresh(two.machine, first["refresh_token"], two.one).json()
    third = two.refresh(two.machine, second["refresh_token"], two.other).json()
    assert two.alive(third["access_token"])
    old = first["refresh_token"]
    answers = on_both(two, 10, lambda server: two.refresh(two.machine, old, server))
    assert {(a.status_code, a.json()["error"]) for a in answers} == {(400, "invalid_grant")}
    for tokens in (first, second, third):
        assert not two.alive(tokens["access_token"])
        for server in (two.one, two.other):
            assert two.refresh(two.machine, tokens["refresh_token"], server).status_code == 400
    [family] = two.site.families()
    assert family.revoked_why == "reuse"
    assert two.site.events().count("token.reused") == 1


@pytest.mark.control("T13")
def test_after_a_logout_no_token_of_a_refresh_under_way_lives(two):
    for turn in range(ROUNDS * 2):
        first = two.issue(two.machine)
        one, other = (two.one, two.other) if turn % 2 else (two.other, two.one)
        headers = bearer(first["access_token"])
        out, *refreshed = together(
            lambda s=one, h=headers: s.delete("/v1/logout", headers=h),
            *(
                lambda s=server, t=first["refresh_token"]: two.refresh(two.machine, t, s)
                for server in (one, other, other)
            ),
        )
        assert out.status_code == 200
        for answer in refreshed:
            assert answer.status_code in (200, 400)
            if answer.status_code == 200:
                assert not two.alive(answer.json()["access_token"])
                again = two.refresh(two.machine, answer.json()["refresh_token"])
                assert again.json()["error"] == "invalid_grant"
        assert not two.alive(first["access_token"])


@pytest.mark.control("T18")
def test_a_logout_is_seen_by_the_other_server_at_once(two):
    for turn in range(ROUNDS):
        one, other = (two.one, two.other) if turn % 2 else (two.other, two.one)
        tokens = two.issue(two.machine, other)
        headers = bearer(tokens["access_token"])
        assert two.alive(tokens["access_token"])
        assert one.delete("/v1/logout/", headers=headers).status_code == 200
        assert other.get("/v1/user", headers=headers).status_code == 401
        assert two.refresh(two.machine, tokens["refresh_token"], other).status_code == 400
        assert other.delete("/v1/logout/", headers=headers).status_code == 401
    assert two.site.events().count("token.revoked") == ROUNDS


def test_logouts_at_once_are_one_row_of_the_trail(two):
    for number in range(ROUNDS):
        headers = bearer(two.issue(two.machine)["access_token"])
        answers = on_both(two, 6, lambda s, h=headers: s.delete("/v1/logout", headers=h))
        assert {answer.status_code for answer in answers} <= {200, 401}
        assert two.site.events().count("token.revoked") == number + 1


def raise_epoch(two, trigger):
    """End everything that was issued to Ann, or to the web client."""
    with two.site.db() as db:
        ann = users.find(db, str(two.ann.id))
        match trigger:
            case "user disabled":
                users.disable(acting(db), ann)
            case "password set":
                users.set_password(acting(db), ann.id, two.other_hash)
            case "signed out":
                users.sign_out(acting(db), ann)
            case "user deleted":
                db.delete(ann)
            case "client disabled":
                clients.disable(acting(db), UUID(two.web.client_id))


@pytest.mark.control("T19")
@pytest.mark.parametrize(
    "trigger", ["user disabled", "password set", "signed out", "user deleted", "client disabled"]
)
def test_what_ends_everything_ends_it_on_both_servers_at_once(two, trigger):
    issued = [two.log_in(two.web, server).json() for server in (two.one, two.other)]
    issued.append(two.refresh(two.web, issued[0]["refresh_token"]).json())
    assert all(two.alive(tokens["access_token"]) for tokens in issued)
    raise_epoch(two, trigger)
    for tokens in issued:
        assert not two.alive(tokens["access_token"])
        for server in (two.one, two.other):
            answer = two.refresh(two.web, tokens["refresh_token"], server)
            assert answer.json()["error"] in ("invalid_grant", "invalid_client")


@pytest.mark.control("T19")
@pytest.mark.parametrize("trigger", ["password set", "signed out", "user disabled"])
def test_a_login_under_way_while_the_epoch_is_raised_gets_no_living_token(two, trigger):
    refused = 0
    for number in range(20):
        if number >= 4 and refused:  # on a busy machine all of them may end before
            break
        make_ann_anew(two)
        with ThreadPoolExecutor(6) as pool:
            under_way = [
                pool.submit(two.log_in, two.web, server) for server in (two.one, two.other) * 3
            ]
            wait(under_way, return_when=FIRST_COMPLETED)  # the others hash, or wait for it
            raise_epoch(two, trigger)
        for answer in (each.result() for each in under_way):
            assert answer.status_code in (200, 400, 503)  # 503: a busy machine hashes too slowly
            refused += answer.status_code == 400
            if answer.status_code == 200:
                assert two.alive(answer.json()["access_token"]) is is_of_today(two, answer.json())
    assert refused > 0  # or none of these logins was under way


def make_ann_anew(two):
    with two.site.db() as db:
        db.query(User).update({"disabled_at": None, "password_hash": two.ann.password_hash})


def is_of_today(two, tokens):
    """Whether a login saw the user as it is now: it came after the epoch was raised."""
    token = TokenCodec([SECRET]).decode(ACCESS, tokens["access_token"], clock.now())
    with two.site.db() as db:
        user, family = db.query(User).one(), db.get(Family, token.family_id)
    return family.user_epoch == user.epoch and user.disabled_at is None


@pytest.mark.control("T19")
def test_an_old_password_gets_no_living_token_once_it_was_changed(two):
    raise_epoch(two, "password set")
    for server in (two.one, two.other):
        assert two.log_in(two.web, server).json()["error"] == "invalid_grant"
        assert two.log_in(two.web, server, password="another lamp 42").status_code == 200


@pytest.mark.control("U06")
def test_fifty_registrations_of_one_address_make_one_user(two):
    fields = {"email": "bo@example.com", "password": "purple wolf 77 tea"}

    def register(server):
        # Few passwords are hashed at once; the other requests are told to come again.
        while (answer := server.post("/v1/register", json=fields)).status_code == 503:
            assert int(answer.headers["Retry-After"]) >= 1
            sleep(0.2)
        return answer

    answers = on_both(two, 50, register)
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(422)) == (1, 49)
    for answer in answers:
        if answer.status_code == 422:
            assert [(e["field"], e["code"]) for e in answer.json()["errors"]] == [
                ("email", "taken")
            ]
    with two.site.db() as db:
        assert db.query(User).filter(User.email == "bo@example.com").count() == 1
    assert two.site.events().count("user.created") == 2  # Ann and Bo


def test_nothing_of_all_this_was_a_bug(servers):
    for server in (servers.one, servers.other):
        log = server.log.read_text(errors="replace")
        assert "internal_error" not in log
        assert "Traceback" not in log
