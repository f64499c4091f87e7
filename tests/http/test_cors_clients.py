"""CORS for the origins of `browser` clients: the token endpoint and its neighbors, and no more."""

from uuid import UUID, uuid4

import pytest

from authsite.oauth.clients import uris
from authsite.oauth.models import BROWSER, NATIVE, ORIGIN, REDIRECT, SERVER, Client, ClientUri
from authsite.platform.runtime import clock
from tests.support.statements import counted

APP, OTHER = "https://spa.example.org", "https://other.example.org"
OPENED = ["/v1/oauth/token", "/v1/oauth/revoke"]
CLOSED = ["/v1/oauth/introspect", "/v1/user", "/v1/register", "/v1/clients/web/login", "/v1/x"]


def add_client(site, uri=APP, type=BROWSER, kind=ORIGIN):
    """A client with one URI; returns its id."""
    keys = site.client()
    with site.db() as db:
        db.get(Client, UUID(keys.client_id)).type = type
        uri = ClientUri(id=uuid4(), client_id=UUID(keys.client_id), kind=kind, uri=uri, position=0)
        db.add(uri)
    return keys.client_id


def send(site, path, origin=APP, **form):
    return site.http.post(path, form, headers={"Origin": origin}, status="*")


def preflight(site, path, origin=APP):
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    return site.http.options(path, headers=asked, status="*")


def allowed(answer):
    assert "Access-Control-Allow-Credentials" not in answer.headers
    return answer.headers.get("Access-Control-Allow-Origin")


@pytest.mark.control("S10")
@pytest.mark.parametrize("path", OPENED)
def test_trap_17_a_browser_client_s_scripts_read_answers_and_errors(site, path):
    """CORS was missing at the token endpoint, on errors above all."""
    add_client(site)
    keys = site.client()
    site.user()
    token = site.login(keys)["refresh_token"]
    grant = {"grant_type": "refresh_token", "refresh_token": token, "token": token}
    for form, status in ((keys.form(**grant), 200), (grant, 401), ({}, 400)):
        answer = send(site, path, **form)
        assert (answer.status_int, allowed(answer)) == (status, APP)
        assert answer.headers["Vary"] == "Origin"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    answer = site.http.get(path, headers={"Origin": APP}, status=405)
    assert allowed(answer) == APP
    answer = preflight(site, path)
    assert (answer.status_int, allowed(answer)) == (204, APP)
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Content-Type" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.control("S10")
@pytest.mark.parametrize("path", OPENED)
@pytest.mark.parametrize(
    "origin",
    ["null", "", "*", f"{APP}/", f"{APP}:8443", f"{APP}.evil.example", APP.upper(), OTHER],
)
def test_any_other_origin_is_told_nothing(site, path, origin):
    add_client(site)
    for answer in (send(site, path, origin), preflight(site, path, origin)):
        assert allowed(answer) is None
        assert answer.headers["Vary"] == "Origin"
    assert preflight(site, path, origin).status_int == 405


@pytest.mark.control("S10")
@pytest.mark.parametrize("path", CLOSED)
def test_nothing_else_is_open_to_them(site, path):
    add_client(site)
    assert [allowed(send(site, path)), allowed(preflight(site, path))] == [None, None]


@pytest.mark.control("S10")
def test_only_origins_of_enabled_browser_clients_count(site):
    add_client(site, OTHER, SERVER)
    add_client(site, OTHER, NATIVE)
    add_client(site, OTHER, BROWSER, REDIRECT)
    gone = add_client(site, "https://gone.example.org")
    with site.db() as db:
        db.get(Client, UUID(gone)).disabled_at = clock.now()
    for origin in (OTHER, "https://gone.example.org"):
        assert allowed(send(site, OPENED[0], origin)) is None


def test_listed_origins_and_those_of_clients_stand_beside_each_other(site_with):
    site = site_with(cors_origins=OTHER)
    add_client(site)
    for path in OPENED:
        assert [allowed(send(site, path, origin)) for origin in (APP, OTHER)] == [APP, OTHER]
    assert allowed(send(site, "/v1/user", OTHER)) == OTHER


def test_the_origins_are_read_once_in_ten_seconds(site):
    now, services = 1000.0, site.app.registry["authsite"]
    known = uris.Origins(lambda: now)
    assert not known.allows(services, APP)
    client_id = add_client(site)
    now += uris.LIFETIME - 1
    with counted(site.database) as statements:
        assert not known.allows(services, APP)
        assert not known.allows(services, OTHER)
    assert statements == []
    now += 1
    assert known.allows(services, APP)
    assert not known.allows(services, OTHER)
    with site.db() as db:
        db.get(Client, UUID(client_id)).disabled_at = clock.now()
    now += uris.LIFETIME
    assert not known.allows(services, APP)


def test_a_request_without_an_origin_reads_none(site):
    with counted(site.database) as statements:
        site.http.post(OPENED[0], {}, status=400)
    assert not any("client_uris" in each for each in statements)
