"""Who the applications of examples/ take a caller for, and what browsers need of FastAPI."""

import json
import sqlite3

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.support.example_apps import NAMES, TIMEOUT, Stand, add_note, notes, until
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


@pytest.fixture(scope="module")
def fastapi(stand, authsite):
    with stand.app("fastapi") as running:
        yield running


def test_the_button_authorize_of_fastapi_gets_a_token(stand, fastapi):
    """As Swagger UI sends it, from the origin of the application (trial F15)."""
    document = fastapi.get("/openapi.json").json()
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
    assert add_note(fastapi, answer.json()["access_token"]).status_code == 201
    assert "SwaggerUIBundle" in fastapi.get("/docs").text


def test_a_websocket_of_fastapi_ends_with_the_login(stand, fastapi):
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
