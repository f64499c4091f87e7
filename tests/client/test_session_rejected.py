"""A token that was revoked before its time: it is replaced once, with every HTTP library."""

import asyncio
import io
from dataclasses import asdict

import httpx
import pytest
import requests

from authsite_client import AsyncClient, AsyncSession, Client, InvalidGrant, Tokens, Unreachable
from authsite_client.httpx_auth import HttpxAuth
from authsite_client.requests_auth import RequestsAuth
from tests.support.servers import free_port
from tests.support.site import PASSWORD
from tests.support.tiny_server import tiny_server
from tests.support.together import together

ANN = ("ann@example.com", PASSWORD)
TOO_OLD = {"WWW-Authenticate": 'Bearer error="insufficient_user_authentication", max_age=60'}


class Service:
    """Another service: it refuses the tokens in ``refused``, and remembers what was sent."""

    def __init__(self, url, server):
        self.url, self.server = url, server
        self.refused, self.challenge = set(), {}

    def respond(self, request):
        token = (request.headers["Authorization"] or "").removeprefix("Bearer ")
        if request.path == "/moved":
            return 307, {"Location": self.elsewhere}, b""
        if not token or token in self.refused or "all" in self.refused:
            return 401, self.challenge, b"rejected"
        return 200, {}, {"form": request.form}

    @property
    def tokens(self):
        """The tokens of the requests so far, without repetition."""
        sent = [request.headers["Authorization"] for request in self.server.requests]
        return list(dict.fromkeys(each and each.removeprefix("Bearer ") for each in sent))


@pytest.fixture
def service():
    with tiny_server(None) as server:
        made = Service(server.url, server)
        server.respond = made.respond
        yield made


@pytest.fixture
def machine(live, client_of):
    """A site, and a session of a client for itself."""
    site = live(refresh_grace="0s")
    site.machine = site.client("personal")
    return site, client_of(site, site.machine).login_as_client()


def by_requests(session, url, **options):
    answer = requests.request("POST", url, auth=RequestsAuth(session), timeout=30, **options)
    return answer.status_code, answer.text


def by_httpx(session, url, **options):
    with httpx.Client(auth=HttpxAuth(session), timeout=30) as http:
        answer = http.post(url, **options)
    return answer.status_code, answer.text


def by_async_httpx(session, url, **options):
    async def run():
        async with httpx.AsyncClient(auth=HttpxAuth(AsyncSession(session)), timeout=30) as http:
            return await http.post(url, **options)

    answer = asyncio.run(run())
    return answer.status_code, answer.text


@pytest.fixture(params=[by_requests, by_httpx, by_async_httpx])
def post(request):
    return request.param


def test_nothing_is_sent_before_the_first_use():
    """An application starts while authsite is away."""
    url = f"http://127.0.0.1:{free_port()}"
    session = Client(url, "id", "secret").login_as_client()
    assert session.tokens is None
    session.logout()
    RequestsAuth(session), HttpxAuth(session)
    assert AsyncClient(url, "id", "secret").login_as_client("notes:read").tokens is None
    with pytest.raises(Unreachable):
        session.access_token()


def test_threads_that_use_a_session_first_log_in_once(machine):
    site, session = machine
    assert site.families() == []
    assert len(set(together(*[session.access_token] * 12))) == 1
    assert len(site.families()) == 1


def test_a_first_login_that_failed_is_tried_again(live, client_of):
    site = live()
    keys = site.client("personal")
    saved = []
    session = client_of(site, keys).login_as_client("notes:delete", save=saved.append)
    for _ in range(2):
        with pytest.raises(Exception, match="invalid_scope"):
            session.access_token()
    assert (saved, session.tokens) == ([], None)
    session = client_of(site, keys).login_as_client(save=saved.append)
    session.access_token()
    assert saved == [session.tokens]


def test_a_rejected_token_is_replaced(machine):
    site, session = machine
    first = session.access_token()
    site.logout(first)
    assert session.access_token() == first
    second = session.access_token(rejected=first)
    assert second != first
    assert site.me(second, status=403).json["errors"][0]["code"] == "user_required"


def test_a_rejected_token_that_is_not_the_present_one_changes_nothing(machine):
    _, session = machine
    present = session.access_token()
    for other in ("at_other", ""):
        assert session.access_token(rejected=other) == present


def test_threads_whose_token_is_rejected_replace_it_once(machine):
    """A refresh token that is used twice would end the login."""
    site, session = machine
    first = session.access_token()
    renewed = together(*[lambda: session.access_token(rejected=first)] * 20)
    assert len(set(renewed)) == 1
    [family] = site.families()
    assert (family.generation, family.revoked_at) == (1, None)


def test_tasks_whose_token_is_rejected_replace_it_once(machine):
    site, session = machine
    first = session.access_token()

    async def run():
        shared = AsyncSession(session)
        return await asyncio.gather(*[shared.access_token(rejected=first) for _ in range(20)])

    assert len(set(asyncio.run(run()))) == 1
    [family] = site.families()
    assert family.generation == 1


def test_the_session_of_a_user_cannot_replace_a_token_of_a_login_that_has_ended(live, client_of):
    site = live()
    session = client_of(site).login(*ANN)
    token = session.access_token()
    site.logout(token)
    with pytest.raises(InvalidGrant):
        session.access_token(rejected=token)


def test_a_request_is_sent_again_once_after_a_revocation(machine, service, post):
    _, session = machine
    first = session.access_token()
    service.refused = {first}
    for _ in range(2):
        status, text = post(session, service.url, data={"text": "Tea"})
        assert (status, '"text": "Tea"' in text) == (200, True)
    assert service.tokens == [first, session.access_token()]
    assert len(service.server.requests) == 3


def test_a_service_that_rejects_every_token_is_asked_twice(machine, service, post):
    _, session = machine
    service.refused = {"all"}
    assert post(session, service.url, data={"text": "Tea"}) == (401, "rejected")
    assert len(service.server.requests) == 2


def test_a_login_that_is_too_old_is_not_renewed(machine, service, post):
    site, session = machine
    service.refused, service.challenge = {"all"}, TOO_OLD
    assert post(session, service.url, data={"text": "Tea"})[0] == 401
    assert len(service.server.requests) == 1
    [family] = site.families()
    assert family.generation == 0


def test_other_errors_are_not_repeated(machine, service, post):
    _, session = machine
    service.server.respond = lambda request: (403, {}, b"")
    assert post(session, service.url)[0] == 403
    assert len(service.server.requests) == 1


def test_a_file_is_sent_again_from_where_it_began(machine, service):
    _, session = machine
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for post in (by_requests, by_httpx):
        service.refused.add(session.access_token())
        file = io.BytesIO(b"skipped text=Tea")
        file.seek(8)
        option = {"data": file} if post is by_requests else {"content": file.read()}
        status, text = post(session, service.url, headers=headers, **option)
        assert (status, '"text": "Tea"' in text) == (200, True)


def test_a_stream_is_not_sent_again_and_the_next_request_succeeds(machine, service):
    _, session = machine
    service.refused = {session.access_token()}

    def parts():
        yield b"text=Tea"

    assert by_requests(session, service.url, data=parts())[0] == 401
    assert by_requests(session, service.url, data={"text": "Tea"})[0] == 200
    assert len(service.server.requests) == 2


def test_a_stream_of_httpx_is_kept_and_sent_again(machine, service):
    _, session = machine
    service.refused = {session.access_token()}

    def parts():
        yield b"text="
        yield b"Tea"

    headers = {"Content-Length": "8"}
    assert by_httpx(session, service.url, content=parts(), headers=headers)[0] == 200


@pytest.mark.parametrize("post", [by_requests, by_httpx])
def test_another_host_gets_no_token_after_a_redirect(machine, service, post):
    """Its 401 says nothing about our token, and is not answered with a new one."""
    _, session = machine
    with tiny_server(lambda request: (401, {}, b"")) as other:
        service.elsewhere = f"http://localhost:{other.port}/"
        options = {"follow_redirects": True} if post is by_httpx else {}
        with httpx.Client(auth=HttpxAuth(session), timeout=30, **options) as http:
            if post is by_httpx:
                assert http.post(f"{service.url}/moved").status_code == 401
            else:
                assert post(session, f"{service.url}/moved")[0] == 401
        assert [request.headers["Authorization"] for request in other.requests] == [None]
    assert len(service.server.requests) == 1


def test_tasks_log_in_resume_refresh_and_revoke(live):
    site = live()
    keys = site.keys

    async def run():
        client = AsyncClient(site.service, keys.client_id, keys.client_secret)
        session = await client.login(*ANN, scope="notes:read")
        pair = await client.refresh(session.tokens.refresh_token)
        resumed = client.resume(Tokens(**asdict(pair)))
        email = (await resumed.user())["email"]
        await client.revoke(pair.refresh_token)
        client.close()
        return email, pair.access_token

    email, access_token = asyncio.run(run())
    assert email == "ann@example.com"
    site.me(access_token, status=401)
