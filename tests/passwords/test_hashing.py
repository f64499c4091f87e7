"""Passwords are hashed and checked whole, and no answer costs less than another."""

import os
import threading
import unicodedata

import bcrypt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authsite.platform.passwords import HashPool, Passwords
from authsite.platform.passwords.hashing import UnacceptablePassword

COST = 6
POOL = HashPool()
NEW = Passwords(COST, [], POOL)
RIGHT = "kitchen lamp on a tuesday"

# Openwall's vectors for crypt_blowfish, the one of PHP's manual, and one of libxcrypt.
FOREIGN = [
    ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    ("U*U*", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
    ("rasmuslerdorf", "$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTpOq"),
    ("żółć" * 8, "$2y$05$abcdefghijklmnopqrstuuyWkmuM2qjiFaSnJi86xE8oF73tSbrCW"),
]
SEVENTY_TWO = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
CUT_AT_72 = "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"


def plain_hash(password: str, cost: int) -> str:
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


@pytest.fixture
def rounds(monkeypatch):
    """What every bcrypt computation cost, in rounds of its key schedule."""
    rounds = []
    real = bcrypt.hashpw

    def counting(key, salt):
        rounds.append(2 ** int(salt[4:6]))
        return real(key, salt)

    monkeypatch.setattr(bcrypt, "hashpw", counting)
    return rounds


def test_the_right_password_is_accepted_and_another_refused():
    stored = NEW.hash(RIGHT)
    assert NEW.check(RIGHT, stored) is True
    assert NEW.check(RIGHT + " ", stored) is False
    assert NEW.check(RIGHT.title(), stored) is False


def test_two_hashes_of_one_password_differ():
    assert NEW.hash(RIGHT) != NEW.hash(RIGHT)


@pytest.mark.control("P04")
def test_a_stored_hash_names_its_scheme_pepper_and_cost():
    assert NEW.hash(RIGHT).startswith("v1$-$2b$06$")


@pytest.mark.control("P01")
def test_sixty_four_emoji_are_a_password_to_the_last_one():
    stored = NEW.hash("\N{GRINNING FACE}" * 64)
    assert NEW.check("\N{GRINNING FACE}" * 64, stored)
    assert not NEW.check("\N{GRINNING FACE}" * 63 + "\N{CAT FACE}", stored)


@pytest.mark.control("P03")
@pytest.mark.control("P04")
@pytest.mark.parametrize("length", [72, 73, 200, 1000, 4096])
def test_the_last_character_of_a_long_password_counts(length):
    stored = NEW.hash("x" * length)
    assert NEW.check("x" * length, stored)
    assert not NEW.check("x" * (length - 1) + "y", stored)
    assert not NEW.check("x" * (length - 1), stored)


@pytest.mark.control("P03")
@pytest.mark.control("P04")
@pytest.mark.parametrize(
    "stored",
    [
        "v1$-$2b$04$abcdefghijklmnopqrstuuHtW8B39wZwLPbl/M3Dv3OlTyqQtmCgu",
        "v1$eae56f0c$2b$04$abcdefghijklmnopqrstuuS2JrPKQCpSaH.G3ooaOUmeyv1hUPHhm",
    ],
)
def test_what_was_stored_once_is_verified_for_ever(stored):
    passwords = Passwords(4, ["a pepper"], POOL)
    assert passwords.check("\ufb01sh \u2460 cafe\u0301", stored)
    assert not passwords.check("fish 1 café", stored)  # NFC keeps what NFKC would lose


@pytest.mark.control("P03")
def test_composed_and_decomposed_spelling_are_one_password():
    composed, decomposed = (unicodedata.normalize(f, "žluťoučký kůň") for f in ("NFC", "NFD"))
    assert composed != decomposed
    assert NEW.check(decomposed, NEW.hash(composed))
    assert NEW.check(composed, NEW.hash(decomposed))


UNACCEPTABLE = [
    "pw\0pw",
    "tab\tpassword",
    "line\npassword",
    "a\x85b",
    "\ud800password",
    "é" * 2049,
    "",
]


@pytest.mark.control("P05")
@pytest.mark.parametrize("password", UNACCEPTABLE)
def test_what_is_no_password_cannot_be_set(password):
    with pytest.raises(UnacceptablePassword):
        NEW.hash(password)


@pytest.mark.control("P05")
@pytest.mark.control("P08")
@pytest.mark.parametrize("password", [*UNACCEPTABLE, "x" * 100_000])
def test_what_is_no_password_is_wrong_at_the_full_cost(password, rounds):
    for stored in (plain_hash("pw", 4), plain_hash("pw", COST), NEW.hash("pw")):
        rounds.clear()
        assert NEW.check(password, stored) is False
        assert sum(rounds) == 2**COST


@pytest.mark.control("P04")
@pytest.mark.parametrize(("password", "stored"), FOREIGN)
def test_hashes_from_elsewhere_are_verified_as_they_are(password, stored):
    passwords = Passwords(7, ["pepper"], POOL)
    assert passwords.check(password, stored)
    assert not passwords.check(password + "x", stored)
    assert passwords.needs_upgrade(stored)


@pytest.mark.control("P04")
def test_a_hash_from_elsewhere_looked_at_72_bytes_and_our_own_looks_at_all():
    assert NEW.check(SEVENTY_TWO + "chars after 72 are ignored", CUT_AT_72)
    assert NEW.check(SEVENTY_TWO, CUT_AT_72)
    assert not NEW.check(SEVENTY_TWO[:71] + "x", CUT_AT_72)
    upgraded = NEW.hash(SEVENTY_TWO)
    assert not NEW.check(SEVENTY_TWO + "x", upgraded)
    assert not NEW.needs_upgrade(upgraded)


@pytest.mark.control("P08")
@pytest.mark.parametrize("password", [RIGHT, "wrong"])
@pytest.mark.parametrize(
    "stored",
    [
        None,
        "",
        "rubbish",
        NEW.hash(RIGHT),
        Passwords(4, [], POOL).hash(RIGHT),
        Passwords(COST, ["lost pepper"], POOL).hash(RIGHT),
        plain_hash(RIGHT, 4),
        plain_hash(RIGHT, 5),
        "$2b$31$" + "." * 53,
    ],
    # Fresh hashes have other names in every process; runs side by side need the same.
    ids=["none", "empty", "rubbish", "new", "cheap", "lost pepper", "plain 4", "plain 5", "dear"],
)
def test_every_check_costs_what_a_check_at_todays_cost_does(stored, password, rounds):
    Passwords(COST, [], POOL).check(password, stored)
    assert sum(rounds) == 2**COST


@pytest.mark.control("P08")
def test_after_a_row_of_higher_cost_all_checks_cost_as_much_as_its(rounds):
    passwords = Passwords(5, [], POOL)
    dearer, cheaper = plain_hash("other", 6), plain_hash(RIGHT, 4)
    rounds.clear()
    assert passwords.check("other", dearer)
    assert passwords.check(RIGHT, cheaper)
    passwords.check(RIGHT, None)
    assert sum(rounds) == 3 * 2**6
    assert passwords.needs_upgrade(dearer)
    assert passwords.hash(RIGHT).startswith("v1$-$2b$05$")


def test_l8_one_row_of_much_higher_cost_does_not_slow_down_all_logins(rounds):
    """L8, house 0.1-7: no row makes the checks of others cost more than twice as much."""
    passwords = Passwords(5, [], POOL)
    assert not passwords.check(RIGHT, plain_hash("other", 10))
    rounds.clear()
    passwords.check(RIGHT, None)
    passwords.check(RIGHT, plain_hash(RIGHT, 5))
    assert sum(rounds) == 2 * 2**6 + 2**5  # the last is plain_hash itself


@pytest.mark.control("P06")
def test_two_generations_of_peppers_are_active_and_the_old_one_is_upgraded():
    before = Passwords(4, [], POOL)
    first = Passwords(4, ["first pepper"], POOL)
    rotated = Passwords(4, ["second pepper", "first pepper"], POOL)
    for older in (before, first):
        stored = older.hash(RIGHT)
        assert rotated.check(RIGHT, stored)
        assert not rotated.check("wrong", stored)
        assert rotated.needs_upgrade(stored)
        assert not older.needs_upgrade(stored)
    newest = rotated.hash(RIGHT)
    assert not rotated.needs_upgrade(newest)
    assert not first.check(RIGHT, newest)
    assert "pepper" not in newest


@pytest.mark.control("P06")
def test_a_hash_is_worth_nothing_without_its_pepper():
    stored = Passwords(4, ["first pepper"], POOL).hash(RIGHT)
    known = stored.split("$")[1]
    other = Passwords(4, ["second pepper"], POOL)
    swapped = stored.replace(known, other.hash(RIGHT).split("$")[1])
    assert not other.check(RIGHT, swapped)
    assert not NEW.check(RIGHT, stored.replace(known, "-"))


@pytest.mark.control("P07")
def test_another_cost_than_todays_needs_an_upgrade():
    assert NEW.needs_upgrade(Passwords(4, [], POOL).hash(RIGHT))
    assert not NEW.needs_upgrade(NEW.hash(RIGHT))
    assert not NEW.needs_upgrade(None)
    assert not NEW.needs_upgrade("rubbish")


@pytest.mark.parametrize("cost", [3, 17])
def test_a_cost_outside_of_the_limits_is_rejected(cost):
    with pytest.raises(ValueError, match=str(cost)):
        Passwords(cost, [], POOL)


@pytest.mark.parametrize(
    "stored",
    [
        "$2b$04$",
        "$2b$99$" + "a" * 53,
        "$2b$03$" + "." * 53,
        "$2b$17$" + "." * 53,
        "$2x$04$" + "." * 53,
        "$2b$04$" + "z" * 53,
        "$2b$04$" + "!" * 53,
        "$2b$٠٤$" + "." * 53,
        "$2b$04$" + "." * 53 + "\n",
        "v1$-" + "." * 60,
        "v1$-$$2b$04$" + "." * 53,
        "v1$2b$04$" + "." * 53,
        "v2$-$2b$04$" + "." * 53,
        "v1$zzzzzzzz$2b$04$" + "." * 53,
        "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
        "x" * 100_000,
    ],
)
def test_a_malformed_stored_hash_is_wrong_and_never_an_error(stored):
    assert NEW.check(RIGHT, stored) is False
    assert not NEW.needs_upgrade(stored)


FAST = Passwords(4, [], POOL)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=90), st.text("v1$2ab04./zA", max_size=80))
def test_no_password_and_no_stored_hash_raises(password, stored):
    assert FAST.check(password, stored) is False


def test_every_hash_is_computed_in_the_pool(monkeypatch):
    names = set()
    real = bcrypt.hashpw

    def naming(key, salt):
        names.add(threading.current_thread().name)
        return real(key, salt)

    monkeypatch.setattr(bcrypt, "hashpw", naming)
    stored = FAST.hash(RIGHT)
    for row in (stored, None, plain_hash(RIGHT, 4)):
        names.discard(threading.current_thread().name)
        FAST.check(RIGHT, row)
        assert names <= {f"hash_{number}" for number in range(os.cpu_count() or 1)}
        assert names
