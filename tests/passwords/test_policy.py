"""One password policy: what one path refuses, every other path refuses too."""

import subprocess
import sys
from types import SimpleNamespace
from uuid import UUID

import pytest
from webtest import TestApp

from tests.support import mails
from tests.support.pages import submit
from tests.support.servers import write_ini
from tests.support.site import PASSWORD, bearer
from tests.support.together import together

NAMES = {"login_identifiers": "email username phone", "phone_region": "DE"}
ANN = {
    "email": "ann@example.com", "username": "quixzylm", "phone": "+49 30 901820",
    "name": "Rosalinde Wolkenbruch",
}  # fmt: skip
SITE = {"site_name": "Kaffeemühlenwerk", "base_url": "https://anmeldung.example.org", **NAMES}
FRESH = "purple wolf 77 tea"
# From each thing that an attacker who knows the site and the user would try.
WEAK = [
    "quixzylm2026!", "rosalinde1", "Wolkenbruch!", "Kaffeemühlenwerk1", "4930901820",
    "anmeldung1", "ann@example.com", "a" * 64, "Summer2026!!",
]  # fmt: skip


@pytest.fixture
def site(site_with):
    made = site_with(**SITE)
    made.keys = made.client()
    return made


def with_ann(site):
    """Ann, with all her names."""
    answer = site.http.post_json("/v1/register", ANN | {"password": PASSWORD}, status=201)
    site.ann = answer.json
    return site


def code(answer):
    assert answer.status_int == 422, answer
    return [(item["code"], item["field"]) for item in answer.json["errors"]]


def register(site, password):
    return site.http.post_json("/v1/register", ANN | {"password": password}, status="*")


def change(site, password):
    token = site.login(with_ann(site).keys)["access_token"]
    body = {"current_password": PASSWORD, "password": password}
    return site.http.put_json("/v1/user/password", body, headers=bearer(token), status="*")


def reset(site, password):
    ann = SimpleNamespace(id=UUID(with_ann(site).ann["id"]))
    body = {"email": "ann@example.com", "token": site.reset_token(ann), "password": password}
    return site.http.post_json("/v1/password/reset", body, status="*")


@pytest.mark.parametrize("password", WEAK)
@pytest.mark.parametrize("path", [register, change, reset])
def test_0_1_5_every_path_rejects_the_same_passwords(site, path, password):
    """House 0.1-5: site, base URL, every identifier and the name are known to every path."""
    assert code(path(site, password)) == [("weak_password", "password")]


@pytest.mark.parametrize("path", [register, change, reset])
def test_every_path_takes_a_strong_password(site, path):
    assert path(site, FRESH).status_int in (200, 201)


@pytest.mark.parametrize("password", ["quixzylm2026!", "4930901820", "rosalinde1"])
def test_0_1_5_the_command_line_rejects_them_too(site, tmp_path, password):
    """House 0.1-5: `user set-password` knows all names of the user."""
    ini = write_ini(tmp_path, with_ann(site).url, **SITE)
    command = [sys.executable, "-m", "authsite", "user", "set-password", "ann@example.com"]
    done = subprocess.run(
        [*command, "--password-stdin", "--config", str(ini)],
        input=password, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "password: " in done.stderr
    site.login(site.keys)


@pytest.fixture
def hiding(site_with):
    return site_with(**NAMES, prevent_enumeration="true")


def new(site, status, **fields):
    body = {"email": "new@example.com", "password": FRESH, **fields}
    return site.http.post_json("/v1/register", body, status=status)


@pytest.mark.parametrize(("kind", "value"), [("username", "quixzylm"), ("phone", "030 901820")])
def test_0_1_2_a_taken_public_name_is_rejected_although_enumeration_is_prevented(
    hiding, kind, value
):
    """House 0.1-2, pages M2: no success is feigned where no account is made and no mail sent."""
    new(hiding, 202, **{kind: value})
    for email in ("free@example.com", "new@example.com"):  # free and taken look the same
        answer = new(hiding, 422, email=email, **{kind: value})
        assert code(answer) == [("taken", kind)]
    page = submit(hiding, "/register", email="free@example.com", password=FRESH, **{kind: value})
    assert page.status_int == 422
    new(hiding, 202, email="free@example.com")  # it was not registered before


def test_0_1_2_only_a_taken_address_is_notified_by_mail(hiding):
    """House 0.1-2: the mail goes to the owner of the address, and to no one else."""
    new(hiding, 202, username="quixzylm")
    new(hiding, 422, username="quixzylm")
    assert [row.kind for row in mails.rows(hiding)] == []
    new(hiding, 202)
    assert [row.kind for row in mails.rows(hiding)] == ["already_registered"]


def test_m4_registering_a_taken_address_mails_its_owner_five_times_an_hour(site_with, frozen):
    """M4: `mail-recipient`, whatever addresses the registrations come from."""
    site = site_with(prevent_enumeration="true", limits="on")
    responses = []
    for number in range(9):
        environ = {"REMOTE_ADDR": f"198.51.100.{number}"}
        body = {"email": "new@example.com", "password": FRESH}
        responses.append(site.http.post_json("/v1/register", body, extra_environ=environ))
    assert {answer.status_int for answer in responses} == {202}
    assert len({answer.body for answer in responses}) == 1
    assert [row.kind for row in mails.rows(site)] == ["already_registered"] * 5


def test_m4_registrations_of_one_address_at_the_same_moment_do_not_flood_it(site_with):
    """M4: those that the database refuses after the address was looked up send no mail."""
    site = site_with(prevent_enumeration="true", limits="on", limits_mail_recipient="1/hour")

    def register(number):
        environ = {"REMOTE_ADDR": f"198.51.100.{number}"}
        body = {"email": "new@example.com", "password": FRESH}
        return TestApp(site.app).post_json("/v1/register", body, extra_environ=environ, status=202)

    together(*(lambda number=number: register(number) for number in range(4)))
    assert len(mails.rows(site)) <= 1
