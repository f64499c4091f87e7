"""Flask, Django and FastAPI behind the verifier, as examples/ has them, on a real authsite."""

import json
import sqlite3
from contextlib import ExitStack

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.support.example_apps import EXAMPLES, NAMES, TIMEOUT, Stand, add_note, notes, until
from tests.support.site import PASSWORD, bearer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    made = Stand(tmp_path_factory.mktemp("examples"))
    yield made
    made.site.database.dispose()


@pytest.fixture(scope="module")
def authsite(stand):
    with stand.authsite() as running:
        yield running


@pytest.fixture(scope="module", params=NAMES)
def app(request, stand, authsite):
    """One of the applications, as an httpx client."""
    with stand.app(request.param) as running:
        yield running


def test_every_example_says_how_to_start_it():
    for name in NAMES:
        text = (EXAMPLES / name / "README.md").read_text()
        assert ".venv/bin/python app.py" in text
        assert "../../clients/python" in (EXAMPLES / name / "requirements.txt").read_text()


def test_an_exempt_path_is_open(app):
    assert app.get("/").status_code == 200


def test_without_a_token_there_is_a_challenge(app):
    answer = app.get("/notes")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="authsite"'
    for token in ("at_forged", "x"):
        answer = notes(app, token)
        assert answer.status_code == 401
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_a_token_opens_the_application_and_names_the_user(stand, app):
    answer = notes(app, stand.token())
    assert answer.status_code == 200, answer.text
    assert answer.json()["user"] == "ann@example.com"


def test_a_refresh_token_opens_nothing(stand, app):
    refresh_token = stand.site.login(stand.callers)["refresh_token"]
    assert notes(app, refresh_token).status_code == 401


def test_a_view_may_need_a_scope(stand, app):
    answer = add_note(app, stand.token())
    assert answer.status_code == 403
    assert 'error="insufficient_scope", scope="notes:write"' in answer.headers["WWW-Authenticate"]
    assert answer.json()["errors"][0]["code"] == "insufficient_scope"
    answer = add_note(app, stand.token("notes:read notes:write"))
    assert answer.status_code == 201, answer.text
    assert "Tea" in answer.json()["notes"]


def test_other_methods_and_a_note_without_text_change_nothing(stand, app):
    headers = bearer(stand.token("notes:read notes:write"))
    before = notes(app, stand.token()).json()["notes"]
    assert app.head("/notes", headers=headers).status_code in (200, 405)
    assert app.delete("/notes", headers=headers).status_code == 405
    assert app.post("/notes", headers=headers).status_code in (400, 422)
    assert notes(app, stand.token()).json()["notes"] == before


def test_a_revoked_token_is_refused_once_the_cache_has_expired(stand, app):
    token = stand.token()
    assert notes(app, token).status_code == 200
    stand.site.logout(token)
    seen = set()

    def refused(answer):
        seen.add(answer.status_code)
        return answer.status_code == 401

    until(lambda: notes(app, token), refused)
    assert seen <= {200, 401}


def test_without_authsite_nothing_passes_until_it_is_back(tmp_path_factory):
    """A cached token passes at first, then there is 503, and never 401."""
    own = Stand(tmp_path_factory.mktemp("outage"))
    token = own.token()
    statuses = {name: [] for name in NAMES}
    with ExitStack() as stack:
        apps = [stack.enter_context(own.app(name)) for name in NAMES]

        def ask(app, token=token):
            answer = app.get("/notes", headers=bearer(token))
            statuses[app.name].append(answer.status_code)
            return answer

        with own.authsite():
            for app in apps:
                until(lambda app=app: ask(app), lambda answer: answer.status_code == 200)
        for app in apps:
            answer = until(lambda app=app: ask(app), lambda answer: answer.status_code == 503)
            assert int(answer.headers["Retry-After"]) >= 1
            assert ask(app, "at_forged").status_code == 503
        with own.authsite():
            for app in apps:
                until(lambda app=app: ask(app), lambda answer: answer.status_code == 200)
                assert notes(app, "at_forged").status_code == 401
    assert all({*seen} == {200, 503} for seen in statuses.values()), statuses
    own.site.database.dispose()


def test_a_user_who_confirmed_nothing_is_an_id_and_not_the_owner_of_the_address(stand, app):
    """Someone registered with the address of another person (trial F1)."""
    if app.name == "django":
        with_django(stand, INSERT_OWNER)
    answer = notes(app, stand.token(username="ceo@corp.example"))
    assert answer.status_code == 200, answer.text
    assert answer.json()["user"] == str(stand.unconfirmed.id)
    assert "ceo@corp.example" not in answer.text
    if app.name == "django":
        users = dict(with_django(stand, "SELECT username, is_superuser FROM auth_user"))
        assert users["ceo@corp.example"] == 1
        assert users[str(stand.unconfirmed.id)] == 0


INSERT_OWNER = (
    "INSERT INTO auth_user (username, email, password, is_superuser, is_staff, is_active,"
    " first_name, last_name, date_joined)"
    " VALUES ('ceo@corp.example', 'ceo@corp.example', '!', 1, 1, 1, '', '', '2026-01-01')"
)


def with_django(stand, statement):
    """What a statement finds in the database of the Django application."""
    database = sqlite3.connect(stand.folder / "django.sqlite")
    found = database.execute(statement).fetchall()
    database.commit()
    database.close()
    return found


def test_a_token_that_acts_for_a_client_does_not_open_an_application_for_users(stand, app):
    """trial F3"""
    form = {"grant_type": "client_credentials", "scope": "notes:read notes:write"}
    token = stand.site.token(stand.partner, **form).json["access_token"]
    for answer in (notes(app, token), add_note(app, token)):
        assert answer.status_code == 403
        assert answer.json()["errors"][0]["code"] == "user_required"


def test_users_have_their_own_notes(stand, app):
    mine = stand.token("notes:write")
    other = stand.token("notes:write", username="ceo@corp.example")
    before = notes(app, other).json()["notes"]
    add_note(app, mine)
    assert notes(app, other).json()["notes"] == before


@pytest.mark.parametrize("app", ["django"], indirect=True)
def test_a_user_who_is_disabled_in_django_does_not_pass(stand, app):
    token = stand.token()
    assert notes(app, token).status_code == 200
    with_django(stand, "UPDATE auth_user SET is_active = 0")
    answer = notes(app, token)
    with_django(stand, "UPDATE auth_user SET is_active = 1")
    assert (answer.status_code, answer.json()) == (401, {"detail": "This user is disabled."})
    assert notes(app, token).status_code == 200


@pytest.mark.parametrize("app", ["django"], indirect=True)
def test_a_public_view_of_django_knows_who_sends_a_token(stand, app):
    assert app.get("/").json()["user"] is None
    answer = until(
        lambda: app.get("/", headers=bearer(stand.token())), lambda each: each.is_success
    )
    assert answer.json()["user"] == "ann@example.com"
    assert app.get("/", headers=bearer("at_forged")).status_code == 401


@pytest.mark.parametrize("app", ["fastapi"], indirect=True)
def test_the_button_authorize_of_fastapi_gets_a_token(stand, app):
    """As Swagger UI sends it, from the origin of the application (trial F15)."""
    document = app.get("/openapi.json").json()
    [scheme] = document["components"]["securitySchemes"].values()
    flow = scheme["flows"]["password"]
    assert document["paths"]["/notes"]["post"]["security"]
    origin = {"Origin": f"http://localhost:{stand.app_ports['fastapi']}"}
    asked = {
        **origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,x-requested-with",
    }
    allowed = httpx.options(flow["tokenUrl"], headers=asked).headers
    assert allowed["Access-Control-Allow-Origin"] == origin["Origin"]
    assert "authorization" in allowed["Access-Control-Allow-Headers"].lower()
    sent = {**origin, "Authorization": "Basic Og==", "X-Requested-With": "XMLHttpRequest"}
    form = {
        "grant_type": "password", "username": "ann@example.com", "password": PASSWORD,
        "scope": " ".join(flow["scopes"]),
    }  # fmt: skip
    answer = httpx.post(flow["tokenUrl"], data=form, headers=sent, timeout=30)
    assert answer.headers["Access-Control-Allow-Origin"] == origin["Origin"]
    assert add_note(app, answer.json()["access_token"]).status_code == 201
    assert "SwaggerUIBundle" in app.get("/docs").text


@pytest.mark.parametrize("app", ["fastapi"], indirect=True)
def test_a_websocket_of_fastapi_ends_with_the_login(stand, app):
    """The token is in a subprotocol, as a browser sends it, or in the header."""
    token = stand.token()
    url = f"ws://127.0.0.1:{stand.app_ports['fastapi']}/live"
    protocol = f"authsite.bearer.{token}"
    with connect(url, subprotocols=[protocol], open_timeout=TIMEOUT) as socket:
        assert socket.subprotocol == protocol
        assert "Buy bread" in json.loads(socket.recv(TIMEOUT))
        stand.site.logout(token)
        with pytest.raises(ConnectionClosed) as closed:
            receive_all(socket)
        assert closed.value.rcvd.code == 1008
    header = bearer(stand.token())
    with connect(url, additional_headers=header, open_timeout=TIMEOUT) as socket:
        assert socket.recv(TIMEOUT)
    for refused in ({}, {"subprotocols": ["authsite.bearer.at_forged"]}):
        with pytest.raises(InvalidStatus):
            connect(url, open_timeout=TIMEOUT, **refused)
    log = (stand.folder / "fastapi.log").read_text()
    assert token not in log


def receive_all(socket):
    """Read until the connection is closed."""
    while True:
        socket.recv(TIMEOUT)
