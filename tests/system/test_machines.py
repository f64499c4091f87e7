"""Two machines with a folder and an environment each, on one database, behind one proxy."""

import re
import subprocess

import httpx
import pytest

from tests.support.installed import CHECKOUT, clean_environ
from tests.support.site import PASSWORD, bearer
from tests.support.world import AUTH, SHOP

pytestmark = pytest.mark.slow

INVENTED = {
    "Host": "evil.example",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "http",
    "Forwarded": "for=203.0.113.66;host=evil.example;proto=http",
}


def test_the_service_runs_from_the_wheel_and_not_from_the_checkout(world, tmp_path):
    code = "import authsite, sys; print(authsite.__file__, *sys.path, sep='\\n')"
    done = subprocess.run(
        [world.installed.bin / "python", "-c", code],
        cwd=tmp_path, env=clean_environ(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found, *path = done.stdout.splitlines()
    assert found == str(world.installed.packages / "authsite" / "__init__.py")
    assert str(CHECKOUT) not in path


def test_a_login_at_one_machine_is_refreshed_at_the_other_ten_times(world, watch):
    """Trial 7: each machine had its own client ``web``, and users were signed out."""
    email = world.register()
    machines = [
        httpx.Client(base_url=f"http://127.0.0.1:{each.port}", timeout=30) for each in world.auth
    ]
    proxy = "/v1/clients/web"
    one, two = machines
    answer = one.post(f"{proxy}/login", json={"username": email, "password": PASSWORD})
    for turn in range(10):
        assert answer.status_code == 200, answer.text
        here, there = (one, two) if turn % 2 else (two, one)
        pair = answer.json()
        for machine in machines:
            assert machine.get("/v1/user", headers=bearer(pair["access_token"])).is_success
        answer = here.post(f"{proxy}/refresh", json={"refresh_token": pair["refresh_token"]})
        spent = bearer(answer.json()["access_token"])
    assert there.delete("/v1/logout", headers=spent).is_success
    assert here.get("/v1/user", headers=spent).status_code == 401


def test_both_machines_answer_behind_the_proxy(world, watch):
    with world.client() as http:
        assert {http.get("/v1/user").status_code for _ in range(8)} == {401}
    log = world.front.access_log.read_text()
    for machine in world.auth:
        assert f"127.0.0.1:{machine.port}\n" in log


def test_plain_http_leads_to_https(world, watch):
    """Trial 24: no server listened at port 80."""
    for host in (AUTH, SHOP):
        with world.client(host) as http:
            answer = http.get(f"http://{host}/login?next=/account")
        assert answer.status_code in (301, 308)
        assert answer.headers["Location"] == f"https://{host}/login?next=/account"


@pytest.mark.control("S09")
def test_a_browser_comes_back_with_tls(world, watch):
    with world.client() as http:
        for path in ("/login", "/v1/user", "/nowhere"):
            header = http.get(path).headers["Strict-Transport-Security"]
            assert int(re.search(r"max-age=(\d+)", header)[1]) >= 31536000


@pytest.mark.control("F02")
@pytest.mark.parametrize("name", INVENTED)
def test_what_a_client_invents_reaches_no_redirect_and_no_mail(world, visitor, name):
    """Attack H6 and H7, trial 12."""
    email = world.register()
    mailbox, invented = visitor().mailbox, {name: INVENTED[name]}
    with world.client() as http:
        asked = {"Accept": "text/html", **invented}
        location = http.get("/account", headers=asked).headers["Location"]
        assert location.removeprefix(f"https://{AUTH}") == "/login?next=/account"
        asked = {"email": email, "reset_url": f"https://{AUTH}/password/reset"}
        answer = http.post("/v1/password/forgot", json=asked, headers=invented)
        assert answer.status_code == 202
    assert mailbox.link(email, "reset/").startswith(f"https://{AUTH}/password/reset/")
