"""Hashes of Django and PHP other than plain bcrypt: verified as they are, at no other cost."""

import bcrypt
import pytest

from authsite.platform.passwords import HashPool, Passwords, foreign, imports

COST = 5
POOL = HashPool()
RIGHT = "kitchen lamp on a tuesday"

# Written by Django 5.2 and argon2-cffi 25.1, with few iterations.
HASHES = {
    "pbkdf2": "pbkdf2_sha256$1000$NaClNaClNaClNaClNaClNa$khxk4IOTJs2XZMBGP1LReOBE5sUzvBIyWyM03Gni8"
    "9E=",
    "bcrypt_sha256": "bcrypt_sha256$$2b$04$IcNUW3R7mdXHg9XKOaICfOf6UW.fA59/tIhdSBJx5S3HetRAvl44y",
    "bcrypt": "bcrypt$$2b$04$3zE67kyY.eCce66Zo8/EiOdYWwmQk8BHf0YvqgGoNSSzq2m7Cz6Z6",
    "argon2 of Django": "argon2$argon2id$v=19$m=64,t=1,p=2$TmFDbE5hQ2xOYUNsTmFDbE5hQ2xOYQ$nLgyq+tYd"
    "VvMAjX1e77cpyxpFgYfuHP7EjGpSNcAejs",
    "argon2i": "$argon2i$v=19$m=64,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$4WGJkDIIdhbbAQzw36XHdrni84aUCqHf"
    "MwOBsQ3G9uk",
    "argon2id": "$argon2id$v=19$m=64,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$i9FcuMxllg2WDLMH0BJjWCKMCoHjcp"
    "MXiMkYHfFV//M",
    "argon2d": "$argon2d$v=19$m=64,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$jIFmccfY2krtempHSoXQPKp7AeZnJCHf"
    "uooJCuxd1aQ",
}  # fmt: skip
PBKDF2, ARGON2 = HASHES["pbkdf2"], HASHES["argon2id"]


@pytest.fixture
def work(monkeypatch):
    """What each check computed: rounds of bcrypt, iterations of PBKDF2, work of Argon2."""
    done = {"bcrypt": 0, "pbkdf2": 0, "argon2": 0}
    hashpw, pbkdf2, argon2 = bcrypt.hashpw, foreign.Pbkdf2.compute, foreign.Argon2.compute

    def count(name, amount, result):
        done[name] += amount
        return result

    monkeypatch.setattr(
        bcrypt, "hashpw", lambda key, salt: count("bcrypt", 2 ** int(salt[4:6]), hashpw(key, salt))
    )
    monkeypatch.setattr(
        foreign.Pbkdf2, "compute", lambda p, *all: count("pbkdf2", p.work, pbkdf2(p, *all))
    )
    monkeypatch.setattr(
        foreign.Argon2, "compute", lambda p, *all: count("argon2", p.work, argon2(p, *all))
    )

    def of(passwords, *arguments):
        done.update(bcrypt=0, pbkdf2=0, argon2=0)
        passwords.check(*arguments)
        return dict(done)

    return of


@pytest.mark.control("P04")
@pytest.mark.parametrize("name", HASHES)
def test_a_hash_of_another_system_is_verified_and_to_be_replaced(name):
    passwords = Passwords(COST, ["pepper"], POOL)
    stored = imports.stored_form(HASHES[name], COST)
    assert len(stored) <= 200
    assert passwords.check(RIGHT, stored)
    assert passwords.needs_upgrade(stored)
    for wrong in (f"{RIGHT} ", RIGHT.title(), "", "x" * 5000, "\ud800", "nul\0"):
        assert not passwords.check(wrong, stored)
    for end in (stored[:-1], stored + "A", stored.swapcase()):
        assert not passwords.check(RIGHT, end)
    assert imports.stored_form(stored, COST) == stored


@pytest.mark.control("P08")
def test_an_imported_hash_an_own_one_and_an_unknown_user_cost_the_same(work):
    passwords = Passwords(COST, [], POOL)
    own = passwords.hash(RIGHT)
    everyone = [own, None, "no hash", PBKDF2, ARGON2, HASHES["bcrypt_sha256"]]
    assert work(passwords, RIGHT, own) == {"bcrypt": 2**COST, "pbkdf2": 0, "argon2": 0}
    for stored in (PBKDF2, ARGON2):  # from now on, this process knows of both
        passwords.check(RIGHT, stored)
    costs = [work(passwords, password, row) for row in everyone for password in (RIGHT, "no", "")]
    assert costs == [{"bcrypt": 2**COST, "pbkdf2": 1000, "argon2": 128}] * len(costs)


@pytest.mark.control("P08")
def test_of_two_hashes_of_one_scheme_the_cheaper_one_is_padded(work):
    passwords = Passwords(COST, [], POOL)
    fewer = PBKDF2.replace("$1000$", "$400$")
    more = ARGON2.replace("m=64,t=2", "m=256,t=2")
    for stored in (fewer, PBKDF2, ARGON2, more):
        passwords.check(RIGHT, stored)
    for stored in (fewer, PBKDF2, ARGON2, more, None):
        assert work(passwords, "no", stored) == {"bcrypt": 2**COST, "pbkdf2": 1000, "argon2": 512}


@pytest.mark.control("P08")
def test_an_imported_hash_takes_at_most_twice_the_time_of_bcrypt_by_its_parameters():
    at_most = [
        PBKDF2.replace("$1000$", f"${2 * 2**COST * foreign.PBKDF2_PER_ROUND}$"),
        ARGON2.replace("m=64,t=2", f"m={2**COST * foreign.ARGON2_PER_ROUND},t=2"),
        ARGON2.replace("m=64,t=2,p=1", "m=16,t=11,p=2"),
    ]
    above = [
        at_most[0].replace("00$", "01$", 1),
        at_most[1].replace(",t=2", ",t=3"),
        # Little memory, and many threads: a pass of 16 KiB and two lanes counts as 272 KiB.
        at_most[2].replace("t=11", "t=12"),
    ]
    for good, bad in zip(at_most, above, strict=True):
        assert imports.stored_form(good, COST) == good
        with pytest.raises(imports.UnsupportedHash, match=f"set bcrypt-cost to {COST + 1} or more"):
            imports.stored_form(bad, COST)
        assert imports.stored_form(bad, COST + 1) == bad
    # The forms that PHP 8 and Django 6 write, with the default of bcrypt-cost.
    for usual in (
        PBKDF2.replace("$1000$", "$1200000$"),
        ARGON2.replace("m=64,t=2,p=1", "m=65536,t=4,p=1"),
        ARGON2.replace("m=64,t=2,p=1", "m=102400,t=2,p=8"),
    ):
        assert imports.stored_form(usual, 12) == usual


@pytest.mark.control("P08")
@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (PBKDF2.replace("$1000$", "$2000001$"), "2,000,000 iterations"),
        (PBKDF2.replace("$NaCl", "$Na\udcffCl"), "unknown form"),
        (PBKDF2.replace("$NaCl", "$Na\0Cl"), "unknown form"),
        (ARGON2.replace("m=64", "m=131073"), "131,072 KiB"),
        (ARGON2.replace("m=64,t=2", "m=131072,t=5"), "524,288 KiB"),
        (ARGON2.replace("p=1", "p=17").replace("m=64", "m=1024"), "16 lanes"),
        (ARGON2.replace("p=1", "p=9"), "too little memory"),
        ("$2y$07$abcdefghijklmnopqrstuuHtW8B39wZwLPbl/M3Dv3OlTyqQtmCgu", "bcrypt-cost to 6"),
        ("v1$0a1b2c3d$2b$05$abcdefghijklmnopqrstuuHtW8B39wZwLPbl/M3Dv3OlTyqQtmCgu", "its pepper"),
        ("5f4dcc3b5aa765d61d8327deb882cf99", "unknown form"),
        ("scrypt$16384$salt$8$5$aaaa", "unknown form"),
        ("$1$abc$def", "unknown form"),
    ],
)
def test_a_hash_that_costs_too_much_or_is_unknown_is_not_taken_and_never_computed(
    stored, reason, work
):
    with pytest.raises(imports.UnsupportedHash, match=reason.replace("$", r"\$")):
        imports.stored_form(stored, COST)
    if not stored.startswith(("$2y", "v1")):
        cost = {"bcrypt": 2**COST, "pbkdf2": 0, "argon2": 0}
        assert work(Passwords(COST, [], POOL), RIGHT, stored) == cost
