"""`Client.device_login`: what the user is shown, how often the tool asks, and how it ends."""

import pytest

from authsite_client import Client, DeviceCode, InvalidGrant, LoginFailed, Unreachable, clock
from tests.client.conftest import CLIENT
from tests.support import guides

STARTED = {
    "device_code": "dc_1",
    "user_code": "BCDF-GHJK",
    "verification_uri": "https://auth.example.org/device",
    "verification_uri_complete": "https://auth.example.org/device?user_code=BCDF-GHJK",
    "expires_in": 600,
    "interval": 5,
}
PAIR = {"token_type": "Bearer", "expires_in": 600, "access_token": "at_1", "refresh_token": "rt_1"}
PENDING = (400, {}, {"error": "authorization_pending", "message": "Wait."})


@pytest.fixture
def pauses(frozen_time, monkeypatch):
    """How long the tool has slept, each time."""
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        frozen_time.advance(seconds)

    monkeypatch.setattr(clock, "sleep", sleep)
    return slept


@pytest.fixture
def tool(server, pauses):
    """A public client; ``answers`` of the token endpoint, of which the last one stays."""

    def respond(request):
        if request.path == "/v1/oauth/device":
            return 200, {}, made.started
        answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
        return answer

    made = Client(server.url, CLIENT[0])
    made.started, made.answers = STARTED, [PENDING]
    server.respond = respond
    yield made
    made.close()


def test_the_user_is_shown_the_code_and_the_tool_waits(server, tool, pauses, capsys):
    tool.answers = [PENDING, PENDING, (200, {}, {**PAIR, "id_token": "a.b.c"})]
    saved = []
    session = tool.device_login("openid email", saved.append)
    assert session.access_token() == "at_1"
    assert session.id_token == "a.b.c"
    assert saved == [session.tokens]
    assert pauses == [5, 5, 5]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "https://auth.example.org/device" in shown.err
    assert "BCDF-GHJK" in shown.err
    start, *polls = server.requests
    assert start.form == {"client_id": CLIENT[0], "scope": "openid email"}
    assert polls[0].form == {
        "client_id": CLIENT[0],
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": "dc_1",
    }
    assert all("Authorization" not in each.headers for each in server.requests)


def test_a_program_shows_the_code_in_its_own_way(tool):
    tool.answers = [(200, {}, PAIR)]
    shown = []
    session = tool.device_login(show=shown.append)
    [code] = shown
    assert isinstance(code, DeviceCode)
    assert (code.url, code.code) == (STARTED["verification_uri"], "BCDF-GHJK")
    assert code.url_with_code == STARTED["verification_uri_complete"]
    assert "dc_1" not in repr(code)
    assert session.id_token is None


def test_slow_down_adds_five_seconds_for_good(tool, pauses):
    slow = (400, {}, {"error": "slow_down", "message": "Slower."})
    tool.answers = [slow, PENDING, slow, (200, {}, PAIR)]
    tool.device_login()
    assert pauses == [5, 10, 10, 15]


@pytest.mark.parametrize("error", ["access_denied", "expired_token"])
def test_an_answer_that_is_none(tool, error):
    tool.answers = [(400, {}, {"error": error, "message": "No."})]
    with pytest.raises(LoginFailed) as failed:
        tool.device_login()
    assert failed.value.error == error


def test_it_ends_when_the_code_has_expired(tool, pauses):
    tool.started = {**STARTED, "expires_in": 18}
    with pytest.raises(LoginFailed) as failed:
        tool.device_login()
    assert failed.value.error == "expired_token"
    assert sum(pauses) == 20


def test_a_busy_service_is_asked_less_often(tool, pauses):
    busy = (503, {"Retry-After": "7"}, {"error": "temporarily_unavailable", "message": "Later."})
    tool.answers = [busy, (200, {}, PAIR)]
    tool.device_login()
    assert pauses == [5, 7, 5]


def test_while_there_is_no_usable_answer_the_pauses_grow(tool, pauses):
    broken = (200, {}, b"not JSON")
    tool.answers = [broken, broken, (200, {}, PAIR)]
    tool.device_login()
    assert pauses == [5, 10, 20]


def test_other_errors_are_raised(tool):
    tool.answers = [(400, {}, {"error": "invalid_grant", "message": "Used."})]
    with pytest.raises(InvalidGrant):
        tool.device_login()


@pytest.mark.parametrize("missing", ["device_code", "user_code", "verification_uri", "expires_in"])
def test_a_response_without_a_code_is_none(tool, missing):
    tool.started = {name: value for name, value in STARTED.items() if name != missing}
    with pytest.raises(Unreachable):
        tool.device_login()


def test_a_public_client_refreshes_by_its_id(server, tool):
    tool.answers = [(200, {}, PAIR)]
    tool.refresh("rt_0")
    assert server.requests[-1].form["client_id"] == CLIENT[0]
    assert "Authorization" not in server.requests[-1].headers


def test_the_tool_of_the_guide_signs_in_once_and_keeps_the_tokens(tool, server, tmp_path):
    """docs/devices.md."""
    [block] = [each.text for each in guides.blocks("devices") if each.language == "python"]
    tool.answers = [(200, {}, PAIR)]

    def run():
        names = {"client_id": CLIENT[0]}
        exec(block.replace("https://auth.example.org", server.url), names)  # noqa: S102  ours
        names["STORE"] = tmp_path / "orders/tokens.json"
        token = names["session"]().access_token()
        names["client"].close()
        return token, names["STORE"]

    token, store = run()
    assert token == "at_1"
    assert store.stat().st_mode & 0o777 == 0o600
    asked = len(server.requests)
    assert run()[0] == "at_1"
    assert len(server.requests) == asked
