"""Passwords through the whole service: checked whole, upgraded, and never cheaper to get wrong."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import bcrypt
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from authsite.platform.passwords import HashCapacityExceeded
from authsite.users import service as users
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.site import PASSWORD, Site

pytestmark = pytest.mark.both_databases

PEPPERS = ["wR7nKc2VfXq9TzLm4BdYp6HsJg3UaE8o", "Zt5MvQ1xNbC8rWy4LkPs7DhFj2GaUe9T"]
FAMILY = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


def store(site, stored):
    """Make ``stored`` Ann's password hash, as an import would."""
    with site.db() as db:
        db.execute(text("UPDATE users SET password_hash = :it"), {"it": stored})


def stored(site):
    with site.db() as db:
        return db.query(User).one().password_hash


def plain_hash(password, cost=10, prefix=b"2b"):
    made = bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(cost))
    return made.replace(b"$2b$", b"$" + prefix + b"$").decode()


@pytest.fixture
def rounds(monkeypatch):
    """What every bcrypt computation from now on cost, in rounds of its key schedule."""
    rounds, real = [], bcrypt.hashpw

    def counting(key, salt):
        rounds.append(2 ** int(salt[4:6]))
        return real(key, salt)

    monkeypatch.setattr(bcrypt, "hashpw", counting)
    return rounds


@pytest.mark.control("P03")
@pytest.mark.control("P04")
def test_every_byte_of_a_long_password_counts(site):
    whole = ("0123456789" * 20)[:200] + " and a sentence"
    site.user(password=whole)
    keys = site.client()
    site.login(keys, password=whole)
    for position in (0, 71, 72, 73, 150, 199, len(whole) - 1):
        other = whole[:position] + "x" + whole[position + 1 :]
        site.login(keys, password=other, status=400)
    for other in (whole[:72], whole[:-1], whole + " ", " " + whole, whole.upper(), whole * 2):
        site.login(keys, password=other, status=400)


@pytest.mark.control("P01")
@pytest.mark.parametrize(
    "password",
    [
        "".join(chr(0x1F400 + n) for n in range(64)),
        f"{FAMILY * 3} at the lake",
        "  four words and blanks  ",
    ],
)
def test_any_characters_and_blanks_make_a_password(site, password):
    fields = {"email": "bo@example.com", "password": password}
    site.http.post_json("/v1/register", fields, status=201)
    keys = site.client()
    site.login(keys, "bo@example.com", password)
    site.login(keys, "bo@example.com", password.strip() + "x", status=400)
    if password != password.strip():
        site.login(keys, "bo@example.com", password.strip(), status=400)


@pytest.mark.control("P03")
def test_both_spellings_of_an_accent_are_one_password(site):
    password = "crème brûlée à la carte"
    site.user(password=unicodedata.normalize("NFD", password))
    keys = site.client()
    for form in ("NFC", "NFD"):
        site.login(keys, password=unicodedata.normalize(form, password))


@pytest.mark.both_databases
@pytest.mark.control("P05")
@pytest.mark.parametrize(
    "typed",
    [PASSWORD + "\0", PASSWORD + "\0x", "\0" + PASSWORD, PASSWORD + "\n", PASSWORD + "\x7f"],
)
def test_nul_and_control_characters_never_log_in(site, typed):
    site.user()
    form = {"grant_type": "password", "username": "ann@example.com", "password": typed}
    answer = site.token(site.client(), 400, **form)
    assert answer.json["error"] in ("invalid_grant", "invalid_request")


@pytest.mark.control("P04")
@pytest.mark.control("P07")
@pytest.mark.parametrize("prefix", [b"2a", b"2b", b"2y"])
def test_an_imported_hash_logs_in_and_is_replaced_by_our_own(site, prefix):
    site.user()
    keys = site.client()
    store(site, plain_hash(PASSWORD, prefix=prefix))
    site.login(keys, password="not this one", status=400)
    assert stored(site).startswith("$2")  # a wrong password upgrades nothing
    site.login(keys)
    assert stored(site).startswith("v1$-$2b$10$")
    site.login(keys)


@pytest.mark.control("P07")
def test_a_hash_of_another_cost_is_replaced_at_login_and_the_tokens_stay(site_with):
    site = site_with(bcrypt_cost="11")
    site.user()
    keys = site.client()
    first = site.login(keys)
    store(site, plain_hash(PASSWORD, cost=10))
    site.login(keys)
    assert "$2b$11$" in stored(site)
    site.me(first["access_token"])


@pytest.mark.control("P07")
@pytest.mark.parametrize("failing", ["hash", "storage"])
def test_an_upgrade_that_fails_does_not_fail_the_login(site, monkeypatch, failing):
    site.user()
    keys = site.client()
    imported = plain_hash(PASSWORD)
    store(site, imported)

    def fail(*_args, **_kw):
        raise HashCapacityExceeded if failing == "hash" else OperationalError("UPDATE", {}, None)

    with monkeypatch.context() as patched:
        if failing == "hash":
            patched.setattr(site.app.registry["authsite"].passwords, "hash", fail)
        else:  # the login itself writes by a session
            patched.setattr(type(site.database.transactional), "begin", fail)
        site.login(keys)
    assert stored(site) == imported


@pytest.mark.control("P06")
def test_two_peppers_are_active_and_a_login_upgrades_to_the_first(site_with):
    old = site_with(password_pepper=PEPPERS[0])
    old.user()
    first = stored(old)
    new = Site(old.url, password_pepper=f"{PEPPERS[1]} {PEPPERS[0]}")
    keys = new.client()
    new.login(keys, password="not this one", status=400)
    assert stored(new) == first
    new.login(keys)
    moved = stored(new)
    assert moved.split("$")[1] != first.split("$")[1]
    only_new = Site(old.url, password_pepper=PEPPERS[1])
    only_new.login(keys)
    only_old = Site(old.url, password_pepper=PEPPERS[0])
    only_old.login(keys, status=400)
    for site in (new, only_new, only_old):
        site.database.dispose()


@pytest.mark.control("P08")
@pytest.mark.parametrize(
    "case",
    ["wrong password", "unknown", "no password", "malformed hash", "disabled", "over-long", "NUL"],
)
def test_every_refused_login_costs_one_hash_at_todays_cost(site, rounds, case):
    ann = site.user()
    keys = site.client()
    form = {"username": "ann@example.com", "password": "not this one"}
    match case:
        case "unknown":
            form["username"] = "nobody@example.com"
        case "no password":
            store(site, None)
        case "malformed hash":
            store(site, "$2b$10$nonsense")
        case "disabled":
            form["password"] = PASSWORD
            with site.db() as db:
                users.disable(acting(db), users.find(db, str(ann.id)))
        case "over-long":
            form["password"] = "🦊" * 1025  # 4100 bytes in 1025 characters
        case "NUL":
            form["password"] = "not this\x01one"
    rounds.clear()
    answer = site.token(keys, 400, grant_type="password", **form)
    assert answer.json["error"] == "invalid_grant"
    assert sum(rounds) == 2**10


@pytest.mark.control("P08")
def test_once_a_dearer_hash_was_seen_every_login_is_as_dear(site_with, rounds):
    site = site_with(bcrypt_cost="10", site_name="dearer")
    site.user()
    keys = site.client()
    store(site, plain_hash(PASSWORD, cost=11))
    site.login(keys, password="not this one", status=400)
    rounds.clear()
    for username in ("nobody@example.com", "ann@example.com"):
        site.login(keys, username, "not this one", status=400)
    assert rounds == [2**11, 2**11]


@pytest.mark.control("P09")
def test_a_full_hash_pool_is_503_at_every_entry_and_reading_goes_on(site):
    site.user()
    keys = site.client()
    tokens = site.login(keys)
    hash_pool = site.app.registry["authsite"].passwords.pool
    begun, finish = Event(), Event()

    def work():
        begun.set()
        finish.wait(30)

    with ThreadPoolExecutor(64) as pool:
        held = [pool.submit(hash_pool.run, work) for _ in range(hash_pool.capacity)]
        begun.wait(30)
        while hash_pool.callers < hash_pool.capacity:
            pass
        form = {"grant_type": "password", "username": "ann@example.com", "password": PASSWORD}
        answer = site.token(keys, 503, **form)
        assert answer.json["error"] == "temporarily_unavailable"
        assert int(answer.headers["Retry-After"]) >= 1
        fields = {"email": "bo@example.com", "password": "purple wolf 77 tea"}
        answer = site.http.post_json("/v1/register", fields, status=503)
        assert [item["code"] for item in answer.json["errors"]] == ["temporarily_unavailable"]
        site.me(tokens["access_token"])
        site.refresh(keys, tokens["refresh_token"])
        finish.set()
        for each in held:
            each.exception()
    site.login(keys)
    assert site.events().count("login.failed") == 0
