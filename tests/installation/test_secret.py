"""The database knows its secret: who has another one is told so, and changes nothing."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from authsite.installation.secret import (
    OtherSecret,
    check,
    check_and_record,
    fingerprint,
    record,
    recorded,
)
from authsite.settings import Secret, new_secret

pytestmark = pytest.mark.both_databases


@pytest.fixture
def connection(site):
    with site.database.autocommit.connect() as made:
        yield made


def with_secrets(site, *texts, announced=()):
    return replace(
        site.cfg, secret=tuple(map(Secret, texts)), secret_next=tuple(map(Secret, announced))
    )


def test_the_first_one_is_recorded_and_another_one_is_refused(site, connection):
    check_and_record(connection, site.cfg)
    assert recorded(connection) == fingerprint(site.cfg.secret[0])
    other = with_secrets(site, new_secret())
    for refused in (check, check_and_record):
        with pytest.raises(OtherSecret, match="authsite secret accept"):
            refused(connection, other)
    assert recorded(connection) == fingerprint(site.cfg.secret[0])
    record(connection, other.secret[0])
    check(connection, other)


def test_a_value_that_is_not_ascii_is_another_secret_and_no_crash(site, connection):
    check_and_record(connection, site.cfg)
    connection.execute(text("UPDATE installation_records SET value = 'é'"))
    for refused in (check, check_and_record):
        with pytest.raises(OtherSecret):
            refused(connection, site.cfg)


def test_any_secret_of_the_list_fits_and_its_first_is_recorded(site, connection):
    old, new = new_secret(), new_secret()
    check_and_record(connection, with_secrets(site, old))
    check_and_record(connection, with_secrets(site, new, old))
    assert recorded(connection) == fingerprint(Secret(new))
    check_and_record(connection, with_secrets(site, new))
    with pytest.raises(OtherSecret):
        check(connection, with_secrets(site, old))


def test_a_machine_that_is_one_step_behind_in_a_rotation_goes_on_and_records_nothing(
    site, connection
):
    old, new = new_secret(), new_secret()
    check_and_record(connection, with_secrets(site, new, old))
    check_and_record(connection, with_secrets(site, old, announced=[new]))
    assert recorded(connection) == fingerprint(Secret(new))


def test_of_two_that_record_at_the_same_moment_one_is_refused(site):
    """Both have found nothing; the second one writes nothing over the first."""
    one, two = with_secrets(site, new_secret()), with_secrets(site, new_secret())
    with (
        site.database.autocommit.connect() as first,
        site.database.autocommit.connect() as second,
    ):
        assert check(first, one) is check(second, two) is None
        check_and_record(first, one)
        with pytest.raises(OtherSecret):
            check_and_record(second, two)


def test_the_fingerprint_is_none_of_the_values_that_others_see(site, connection):
    check_and_record(connection, site.cfg)
    found = recorded(connection)
    assert len(found) == 64
    assert site.cfg.secret[0].reveal() not in found
    rings = site.app.registry["authsite"].keys
    seen = {rings[name].signing.fingerprint.hex() for name in ("token", "csrf", "installation")}
    assert not [each for each in seen if each in found]
