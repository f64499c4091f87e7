"""Flask, Django and FastAPI behind the verifier, as examples/ has them, on a real authsite."""

from contextlib import ExitStack

import pytest

from tests.support.example_apps import EXAMPLES, NAMES, Stand, add_note, notes, until
from tests.support.site import bearer

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
