"""A Django project moves: hashes as Django itself makes them, active and inactive users."""

import django.conf
import pytest
from sqlalchemy import select

from authsite.users.models import User
from tests.support import foreign_systems as other

PASSWORD = "kitchen lamp on a tuesday"
LOGIN = "email username"


@pytest.fixture(scope="module")
def hashed():
    """The hash of `PASSWORD` by each of Django's hashers, with few iterations."""
    if not django.conf.settings.configured:
        django.conf.settings.configure()
    from django.contrib.auth import hashers

    class BCrypt(hashers.BCryptSHA256PasswordHasher):
        rounds = 5

    class Argon2(hashers.Argon2PasswordHasher):
        time_cost, memory_cost, parallelism = 1, 64, 2

    pbkdf2 = hashers.PBKDF2PasswordHasher()
    return {
        "pbkdf2": pbkdf2.encode(PASSWORD, pbkdf2.salt(), 1000),
        "bcrypt": BCrypt().encode(PASSWORD, BCrypt().salt()),
        "argon2": Argon2().encode(PASSWORD, Argon2().salt()),
        "scrypt": hashers.ScryptPasswordHasher().encode(PASSWORD, "salt"),
        "unusable": hashers.make_password(None),
    }


def test_users_log_in_with_their_old_passwords_and_come_out_with_our_hashes(
    site_with, importing, hashed, tmp_path
):
    site = site_with(login_identifiers=LOGIN)
    rows = [
        other.django_user(number, username=name, password=stored, first_name="Al", last_name="Bo")
        for number, (name, stored) in enumerate(hashed.items(), start=1)
    ]
    rows.append(other.django_user(9, username="Gone", password=hashed["pbkdf2"], is_active=0))
    dump = tmp_path / "shop.sql"
    dump.write_text(other.postgresql_dump(auth_user=(other.DJANGO_USERS, rows)))
    done = importing("django", dump, "--confirmed", **{"login-identifiers": LOGIN})
    assert done["users"] == {"imported": 5, "present": 0, "refused": 1}
    assert [(row["source_id"], row["field"]) for row in done["rows"]] == [("4", "password")]
    keys = site.client()
    for name in ("pbkdf2", "bcrypt", "argon2"):
        for _ in range(2):
            site.login(keys, name, PASSWORD)
        site.login(keys, name, PASSWORD + "!", status=400)
    for name in ("unusable", "gone"):
        site.login(keys, name, PASSWORD, status=400)
    with site.db() as db:
        users = {user.username: user for user in db.scalars(select(User))}
    for name in ("pbkdf2", "bcrypt", "argon2"):
        assert users[name].password_hash.startswith("v1$-$2b$10$")
    assert users["unusable"].password_hash is None
    assert [name for name, user in users.items() if user.disabled_at] == ["gone"]
    assert (users["argon2"].name, users["gone"].name) == ("Al Bo", None)
    assert users["pbkdf2"].email_verified_at == users["pbkdf2"].created_at
    assert users["pbkdf2"].created_at.isoformat() == "2021-03-04T05:06:07.123456+00:00"


ADDRESSES = ("id", "email", "verified", "user_id")


def test_the_addresses_of_allauth_decide_what_is_confirmed(site, importing, tmp_path):
    """Also where --confirmed says that all are: a person may have typed another's address."""
    users = [other.django_user(number) for number in (1, 2, 3, 4)]
    addresses = [
        {"id": 1, "email": "User1@example.com", "verified": 1, "user_id": 1},
        {"id": 2, "email": "user2@example.com", "verified": 0, "user_id": 2},
        {"id": 3, "email": "user3@example.org", "verified": 1, "user_id": 3},
        {"id": 4, "email": "user4@example.com", "verified": 1, "user_id": 3},
    ]
    tables = {
        "auth_user": (other.DJANGO_USERS, users),
        "account_emailaddress": (ADDRESSES, addresses),
    }
    importing("django", other.sqlite_database(tmp_path / "db.sqlite", **tables), "--confirmed")
    with site.db() as db:
        found = db.execute(select(User.email, User.email_verified_at).order_by(User.email))
        confirmed = [email for email, verified_at in found if verified_at]
    assert confirmed == ["user1@example.com"]


def test_without_that_table_the_option_decides(site, importing, tmp_path):
    tables = {"auth_user": (other.DJANGO_USERS, [other.django_user(1)])}
    importing("django", other.sqlite_database(tmp_path / "db.sqlite", **tables), "--confirmed")
    with site.db() as db:
        assert db.scalars(select(User.email_verified_at)).one() is not None


def test_a_salt_in_base64_is_refused_since_no_password_would_fit(site, importing, tmp_path):
    hashed = "pbkdf2_sha256$1000$" + "c2FsdHNhbHRzYWx0c2FsdA==" + "$" + "A" * 43 + "="
    rows = [other.django_user(1, password=hashed), other.django_user(2)]
    url = other.sqlite_database(tmp_path / "db.sqlite", auth_user=(other.DJANGO_USERS, rows))
    done = importing("django", url)
    assert [(row["source_id"], row["field"]) for row in done["rows"]] == [("1", "password")]
    assert "salt in base64" in done["rows"][0]["reason"]


def test_a_user_whose_hash_cannot_be_verified_may_be_imported_without_one(
    site, importing, hashed, tmp_path
):
    rows = [other.django_user(1, password=hashed["scrypt"])]
    url = other.sqlite_database(tmp_path / "db.sqlite", auth_user=(other.DJANGO_USERS, rows))
    done = importing("django", url, "--without-password")
    assert done["users"]["imported"] == 1
    with site.db() as db:
        user = db.scalars(select(User)).one()
    assert (user.password_hash, user.username, user.email_verified_at) == (None, None, None)
