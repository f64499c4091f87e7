"""The API below /v1/user/passkeys."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.credentials import pack
from authsite.users.models import User
from tests.support.authenticator import Authenticator
from tests.support.factors import add_totp
from tests.support.site import PASSWORD, bearer

from .passkey_users import register, rows

PROOF = {"current_password": PASSWORD}


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


@pytest.fixture
def headers(site, ann):
    """Of a sign-in that may change the factors: its mailbox and a second factor were proved."""
    headers = bearer(site.login(site.client())["access_token"])
    proved(site, "pwd", "email", "otp")
    return headers


def proved(site, *amr):
    with site.db() as db:
        db.execute(update(Family).values(facts=pack(amr), auth_at=clock.now()))


def options(site, headers, status=200, **fields):
    given = {**PROOF, **fields}
    return site.http.post_json(
        "/v1/user/passkeys/options", given, headers=headers, status=status
    ).json


def add(site, headers, authenticator, status=201, found=None, **fields):
    credential = authenticator.create(found or options(site, headers))
    given = {"credential": credential, **fields}
    return site.http.post_json("/v1/user/passkeys", given, headers=headers, status=status).json


def codes(answer):
    return [(each["field"], each["code"]) for each in answer["errors"]]


def test_add_a_passkey(site, headers):
    made = add(site, headers, Authenticator(), name="My phone")
    assert made["name"] == "My phone"
    assert made["synced"] is True
    assert made["last_used_at"] is None
    assert len(made["recovery_codes"]) == 8
    [row] = rows(site)
    assert made["id"] == str(row.id)
    second = add(site, headers, Authenticator(synced=False))
    assert set(second) == {"id", "name", "created_at", "last_used_at", "synced"}
    assert second["synced"] is False
    listed = site.http.get("/v1/user/factors", headers=headers).json["passkeys"]
    assert [each["id"] for each in listed] == [made["id"], second["id"]]
    assert listed[1] == second
    assert site.events().count("factor.added") == 2


def test_the_credential_may_be_json_text_in_a_form(site, headers):
    credential = json.dumps(Authenticator().create(options(site, headers)))
    form = {"credential": credential, "end_others": "false"}
    answer = site.http.post("/v1/user/passkeys", form, headers=headers, status=201)
    assert len(answer.json["recovery_codes"]) == 8


def test_the_first_one_ends_all_other_sign_ins(site, headers):
    other = bearer(site.login(site.client())["access_token"])
    add(site, headers, Authenticator())
    site.http.get("/v1/user", headers=headers)
    site.http.get("/v1/user", headers=other, status=401)


def test_the_first_one_ends_none_if_that_is_not_wanted(site, headers):
    other = bearer(site.login(site.client())["access_token"])
    add(site, headers, Authenticator(), end_others=False)
    site.http.get("/v1/user", headers=other)


def test_the_proof_is_asked_for(site, headers):
    found = site.http.post_json("/v1/user/passkeys/options", {}, headers=headers, status=422).json
    assert codes(found) == [("current_password", "required")]
    found = options(site, headers, 422, current_password="wrong one here")
    assert ("current_password", "invalid_password") in codes(found)
    own = add(site, headers, Authenticator())
    path = f"/v1/user/passkeys/{own['id']}"
    proved(site, "pwd")
    site.http.delete_json(path, {"current_password": PASSWORD}, headers=headers, status=401)
    assert len(rows(site)) == 1
    proved(site, "pwd", "otp")
    site.http.delete_json(path, {}, headers=headers, status=204)


def test_a_password_alone_does_not_add_the_first_one(site, ann):
    headers = bearer(site.login(site.client())["access_token"])
    assert ("mail_code", "required") in codes(options(site, headers, 422))


def test_the_options_end_with_another_change_of_the_factors(site, ann, headers):
    """The proof was that of a user without a factor: from then on more is asked for."""
    before = options(site, headers)
    add_totp(site, ann)
    answer = add(site, headers, Authenticator(), status=422, found=before)
    assert codes(answer) == [("credential", "invalid_credential")]
    assert rows(site) == []
    add(site, headers, Authenticator())


def test_without_options_nothing_is_added(site, headers):
    """The challenge is the proof: one of another sign-in does not serve here."""
    other = bearer(site.login(site.client())["access_token"])
    proved(site, "pwd", "email", "otp")
    found = options(site, other)
    answer = add(site, headers, Authenticator(), 422, found=found)
    assert codes(answer) == [("credential", "invalid_credential")]
    assert rows(site) == []


@pytest.mark.parametrize(
    ("credential", "code"),
    [
        ({}, "invalid_credential"),
        ({"id": "x"}, "invalid_credential"),
        ("text", "invalid_credential"),
        ({"id": "x" * 17_000}, "invalid_credential"),
        ({"id": "é\udc80"}, "invalid"),
    ],
)
def test_what_is_no_credential_is_refused(site, headers, credential, code):
    body = json.dumps({"credential": credential})
    answer = site.http.post(
        "/v1/user/passkeys", body, headers=headers, content_type="application/json", status=422
    )
    assert codes(answer.json) == [("credential", code)]


@pytest.mark.parametrize("credential", [None, 7, True, [1], ""])
def test_what_is_neither_object_nor_text_is_an_error_of_the_field(site, headers, credential):
    answer = site.http.post_json(
        "/v1/user/passkeys", {"credential": credential}, headers=headers, status=422
    )
    assert [field for field, _ in codes(answer.json)] == ["credential"]


def test_a_name_has_no_control_characters(site, headers):
    made = Authenticator().create(options(site, headers))
    body = {"credential": made, "name": "two\nlines"}
    answer = site.http.post_json("/v1/user/passkeys", body, headers=headers, status=422).json
    assert codes(answer) == [("name", "invalid")]
    assert rows(site) == []
    body["name"] = " "
    site.http.post_json("/v1/user/passkeys", body, headers=headers, status=201)
    assert rows(site)[0].name.strip()


def test_rename(site, headers):
    own = add(site, headers, Authenticator())
    path = f"/v1/user/passkeys/{own['id']}"
    found = site.http.patch_json(path, {"name": " Desk "}, headers=headers).json
    assert found["name"] == "Desk"
    assert set(found) == {"id", "name", "created_at", "last_used_at", "synced"}
    for name in ("", "  ", "x" * 65, "two\nlines", "\x1b[2J"):
        site.http.patch_json(path, {"name": name}, headers=headers, status=422)
    assert [each.name for each in rows(site)] == ["Desk"]


def test_remove(site, headers):
    own = add(site, headers, Authenticator())
    path = f"/v1/user/passkeys/{own['id']}"
    site.http.delete_json(path, PROOF, headers=headers, status=204)
    site.http.delete_json(path, PROOF, headers=headers, status=404)
    assert rows(site) == []
    assert site.events().count("factor.removed") == 1


@pytest.mark.parametrize("id", ["7", "0e37df36-f698-4e8b-9be0-6d2b9a0c1f11", "%00", "%C3%A9"])
def test_what_is_not_there(site, headers, id):
    path = f"/v1/user/passkeys/{id}"
    site.http.delete_json(path, PROOF, headers=headers, status=404)
    site.http.patch_json(path, {"name": "x"}, headers=headers, status=404)


def test_those_of_another_user_are_not_there(site, headers):
    bob = site.user("bob@example.com", confirmed=True)
    register(site, bob)
    path = f"/v1/user/passkeys/{rows(site)[0].id}"
    site.http.delete_json(path, PROOF, headers=headers, status=404)
    site.http.patch_json(path, {"name": "x"}, headers=headers, status=404)
    assert len(rows(site)) == 1


@pytest.mark.both_databases
def test_the_last_way_in_stays_also_if_two_are_removed_at_once(site, ann, headers):
    first, second = (register(site, ann) for _ in range(2))
    assert first.id != second.id
    with site.db() as db:
        db.execute(update(User).values(password_hash=None))
    ids = [each.id for each in rows(site)]

    def remove(id):
        return site.http.delete_json(
            f"/v1/user/passkeys/{id}", {}, headers=headers, status="*"
        ).status_int

    proved(site, "pop", "user")
    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(remove, ids))
    assert found == [204, 409], found
    assert len(rows(site)) == 1


def test_personal_tokens_and_other_guards_open_nothing(site, headers):
    for headers in ({}, bearer("pt_" + "x" * 60), bearer("at_" + "x" * 60)):
        site.http.post_json("/v1/user/passkeys/options", PROOF, headers=headers, status=401)
        site.http.post_json(
            "/v1/user/passkeys", {"credential": {"id": "x"}}, headers=headers, status=401
        )
        site.http.delete_json(f"/v1/user/passkeys/{uuid4()}", headers=headers, status=401)


def test_twenty_at_most(site, ann, headers):
    for _ in range(20):
        register(site, ann)
    assert codes(options(site, headers, 409)) == [(None, "too_many_passkeys")]


def test_there_are_none_where_the_settings_forbid_them(site_with):
    site = site_with(factors="totp")
    site.user(confirmed=True)
    headers = bearer(site.login(site.client())["access_token"])
    options(site, headers, 404)
    site.http.post_json(
        "/v1/user/passkeys", {"credential": {"id": "x"}}, headers=headers, status=404
    )
