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
