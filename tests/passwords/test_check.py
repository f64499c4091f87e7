"""What the pages' script asks about a new password while it is typed."""

import logging

import pytest

from tests.support.pages import csrf_of, sign_in, submit
from tests.support.site import PASSWORD

REGISTER, RESET, CHANGE = "/register/check", "/password/reset/check", "/account/password/check"
STRONG = "four quiet cats dance 77"
TOO_EASY = "Too easy to guess: it will be refused. Try four unrelated words."
FORTY = [
    "password1", "P@ssw0rd!", "qwertzuiop", "Summer2026!", "marlene.dietrich", "hunter2hunter2",
    "trustno1!", "1q2w3e4r5t", "schalke04!", "purplewolf", "letmein99", "monkey12345",
    "iloveyou2", "Sommer2024", "passwort1", "fussball11", "abc123456", "football!", "Liverpool1",
    "aaaaaaaa", "19870412", "dietrich1987", "Authsite2026", "a" * 70, "password" * 9, "dragon1987",
    "four quiet cats dance", "xK9#mQ2$vL", "purple wolf", "correct-horse", "gartenzaun im märz",
    "陽だまりの猫と古時計", "zx8#Kq1p", "Anna has nine tame geese", "x" * 100 + "four quiet cats",
    "kq7zPw31", "blue kettle", "tromboneglacier", "mumbled 88 owls", "Tr0ub4dor&3",
]  # fmt: skip
NAMES = {"login_identifiers": "email username phone"}


def token(site, page="/register"):
    return csrf_of(site.http.get(page))


def check(site, password, path=REGISTER, status=200, *, headers=None, **fields):
    form = {"csrf_token": token(site), "password": password, **fields}
    return site.http.post(path, form, status=status, headers=headers)


@pytest.mark.parametrize(
    ("password", "level", "message"),
    [
        ("purple wolf", 2, "Fair. Longer is stronger."),
        (STRONG, 3, "Strong."),
        ("purplewolf", 1, TOO_EASY),
        ("hunter2hunter2", 1, TOO_EASY),
        ("a" * 4096, 1, TOO_EASY),
        ("a" * 100 + STRONG * 3, 3, "Strong."),
        ("short", 1, "Use at least 8 characters."),
        ("kitchen\tlamp", 1, "Leave out line breaks, tabs and other control characters."),
    ],
)
def test_the_rating_is_that_of_the_policy(site, password, level, message):
    assert check(site, password).json == {"level": level, "message": message}


def test_the_check_and_the_registration_agree_on_forty_passwords(site):
    assert len(set(FORTY)) == 40
    checks, refusals = {}, {}
    email = "marlene.dietrich@example.com"
    for password in FORTY:
        checks[password] = check(site, password, email=email).json["level"] == 1
        # With an invalid name: the password is judged, and neither hashed nor used.
        asked = {"email": email, "password": password, "name": "\a"}
        answer = site.http.post_json("/v1/register", asked, status=422).json
        refusals[password] = "weak_password" in [error["code"] for error in answer["errors"]]
    assert checks == refusals
    assert len(set(checks.values())) == 2


def test_the_message_is_in_the_language_of_the_page(site):
    answer = check(site, STRONG, headers={"Accept-Language": "de"})
    assert answer.json == {"level": 3, "message": "Stark."}


@pytest.mark.control("P02")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", "quixzylm@example.com"), ("name", "Quixzylm Wolke"), ("username", "quixzylm"),
    ],
)  # fmt: skip
def test_what_the_applicant_has_filled_in_is_part_of_the_judgement(site_with, field, value):
    site = site_with(**NAMES)
    assert check(site, "quixzylm2026").json["level"] == 3
    assert check(site, "quixzylm2026", **{field: value}).json["level"] == 1


def test_the_check_of_the_account_page_knows_the_user_and_requires_a_session(site_with):
    site = site_with(**NAMES)
    site.user(username="quixzylm")
    assert check(site, STRONG, CHANGE, 401, headers={"Accept": "application/json"}).json
    sign_in(site)
    fields = {"csrf_token": token(site, "/account"), "password": "quixzylm2026"}
    assert site.http.post(CHANGE, fields).json["level"] == 1
    assert site.http.post(CHANGE, {**fields, "password": STRONG}).json["level"] == 3


def test_the_check_of_the_reset_page_knows_the_user_of_the_link_and_leaves_the_link_valid(
    site_with,
):
    site = site_with(**NAMES)
    user = site.user(username="quixzylm")
    link = {"email": user.email, "token": site.reset_token(user)}
    assert check(site, "quixzylm2026", RESET, **link).json["level"] == 1
    assert check(site, STRONG, RESET, **link).json["level"] == 3
    site.http.post_json("/v1/password/reset", {**link, "password": STRONG}, status=200)


def test_forged_tokens_of_a_link_count_as_failed_resets(site_with):
    site = site_with(limits="on", limits_reset_token="2/hour")
    user = site.user()
    link = {"email": user.email, "token": site.reset_token(user)}
    for _ in range(5):
        check(site, STRONG, RESET, **link)
    for _ in range(2):
        answer = check(site, STRONG, RESET, 422, **{**link, "token": "forged"})
        assert answer.json["errors"][0]["code"] == "invalid_token"
    check(site, STRONG, RESET, 429, **link)


@pytest.mark.control("S04")
@pytest.mark.parametrize(
    ("headers", "given"),
    [
        ({}, "0" * 64),
        ({}, ""),
        ({"Origin": "https://evil.example"}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
    ],
    ids=["wrong token", "no token", "other origin", "cross-site"],
)
def test_another_site_learns_nothing_and_uses_up_no_limit(site_with, headers, given):
    site = site_with(limits="on", limits_password_check="1/hour")
    own = token(site)
    form = {"csrf_token": own if given is None else given, "password": STRONG}
    for _ in range(3):
        answer = site.http.post(REGISTER, form, headers=headers, status=403)
        assert answer.json["errors"][0]["code"] == "csrf"
        assert "level" not in answer.json
    site.http.post(REGISTER, {"csrf_token": own, "password": STRONG}, status=200)


@pytest.mark.control("L03")
def test_checks_are_limited_for_each_address_and_the_form_can_still_be_sent(site_with, frozen):
    site = site_with(limits="on")
    form = {"csrf_token": token(site), "password": STRONG}
    for _ in range(60):
        site.http.post(REGISTER, form)
    assert site.http.post(REGISTER, form, status=429).json["errors"][0]["field"] is None
    site.http.post(REGISTER, form, extra_environ={"REMOTE_ADDR": "192.0.2.2"})
    assert submit(site, "/register", email="ann@example.com", password=STRONG).status_int == 303
    frozen.advance(60)
    site.http.post(REGISTER, form)


def test_what_is_too_long_or_no_form_is_refused(site):
    check(site, "x" * 4097, status=422)
    check(site, "x" * 70_000, status=413)
    check(site, "", status=422)
    own = token(site)
    site.http.post_json(REGISTER, {"csrf_token": own, "password": STRONG}, status=415)
    site.http.get(REGISTER, status=405)


@pytest.mark.control("G02")
def test_the_password_is_neither_logged_nor_stored_nor_kept_by_a_cache(site_with, caplog):
    site = site_with(limits="on")
    caplog.set_level(logging.DEBUG)
    answers = [
        check(site, STRONG),
        check(site, STRONG + "\n", headers={"Origin": "null"}, status=403),
    ]
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}
    assert all(STRONG not in answer.text for answer in answers)
    assert STRONG not in caplog.text
    with site.db() as db:
        rows = db.connection().exec_driver_sql("SELECT event, details FROM audit_events").all()
    assert [row.event for row in rows] == ["form.cross_origin"]
    assert STRONG not in str(rows)


def test_a_page_has_the_path_of_its_check_and_the_rule(site):
    field = site.http.get("/register").forms[0]["password"].attrs
    assert field["data-check"] == REGISTER
    assert field["minlength"] == "8"
    assert field["passwordrules"] == "minlength: 8;"
    user = site.user(password=PASSWORD)
    link = {"email": user.email, "token": site.reset_token(user)}
    assert (
        site.http.get("/password/reset", params=link).forms[0]["password"].attrs["data-check"]
        == RESET
    )
