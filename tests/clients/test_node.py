"""openid-client (with a secret) and oauth4webapi (without one), in applications of Node.js."""

import json

import pytest

from tests.conftest import need
from tests.support.real_provider import FOLDER, NODE
from tests.support.servers import free_port

LIBRARIES = ("openid-client", "oauth4webapi")


@pytest.fixture(scope="module", params=["RS256", "ES256"])
def alg(request):
    return request.param


@pytest.fixture(scope="module")
def running(place):
    """``running(name, port, **facts)``: an application as a context manager."""
    installed = all((FOLDER / "node_modules" / name).is_dir() for name in LIBRARIES)
    need(NODE and installed, "Node.js with its clients (npm ci --prefix tests/system/node)")

    def start(name, port, **facts):
        given = {"issuer": place.issuer, "url": f"http://127.0.0.1:{port}", "port": port, **facts}
        return place.process(
            [NODE, f"rp-{name}.mjs"], port, folder=FOLDER, log=f"{name}.log",
            AUTHSITE_RP=json.dumps(given),
        )  # fmt: skip

    return start


def test_openid_client_signs_in_refreshes_and_signs_out(place, running, person, alg):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    made = place.client(
        f"{url}/callback", post_logout_redirect_uri=f"{url}/bye", id_token_signed_response_alg=alg
    )
    keys = {"id": made["client_id"], "secret": made["client_secret"]}
    with running("openid-client", port, alg=alg, **keys):
        ann = person()
        ann.enter(f"{url}/login", f"{url}/callback")
        found = json.loads(ann.text())
        assert "claims" in found, found
        assert found["claims"]["sub"] == found["userinfo"]["sub"] == ann.id
        assert found["userinfo"]["email"] == ann.email
        for claim in ("iss", "sub", "aud", "auth_time", "sid"):
            assert found["refreshed"][claim] == found["claims"][claim]

        ann.page.goto(f"{url}/logout")
        ann.at(f"{url}/bye")
        assert json.loads(ann.text()) == {"state": "of the application"}
        assert not ann.is_signed_in()


def test_oauth4webapi_signs_in_as_a_public_client(place, running, person):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    made = place.client(f"{url}/callback", type="browser")
    with running("oauth4webapi", port, id=made["client_id"], alg="RS256"):
        ann = person()
        ann.enter(f"{url}/login", f"{url}/callback")
        found = json.loads(ann.text())
        assert "claims" in found, found
        assert found["claims"]["sub"] == found["userinfo"]["sub"] == ann.id
        assert found["userinfo"]["email_verified"] is True
