"""The database knows its secret and sealing key: others are refused, and change nothing."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from authsite.platform.installation.fingerprints import (
    SEALING_KEY,
    SECRET,
    OtherSecret,
    check,
    check_and_record,
    fingerprint,
    problems,
    record,
    record_all,
    recorded,
)
from authsite.platform.settings import Secret, new_sealing_key, new_secret


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
    assert recorded(connection, SECRET) == fingerprint(SECRET, site.cfg.secret[0])
    other = with_secrets(site, new_secret())
    for refused in (check, check_and_record):
        with pytest.raises(OtherSecret, match="authsite secret accept"):
            refused(connection, other)
    assert recorded(connection, SECRET) == fingerprint(SECRET, site.cfg.secret[0])
    record(connection, SECRET, other.secret[0])
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
    assert recorded(connection, SECRET) == fingerprint(SECRET, Secret(new))
    check_and_record(connection, with_secrets(site, new))
    with pytest.raises(OtherSecret):
        check(connection, with_secrets(site, old))


def test_a_machine_that_is_one_step_behind_in_a_rotation_goes_on_and_records_nothing(
    site, connection
):
    old, new = new_secret(), new_secret()
    check_and_record(connection, with_secrets(site, new, old))
    check_and_record(connection, with_secrets(site, old, announced=[new]))
    assert recorded(connection, SECRET) == fingerprint(SECRET, Secret(new))


def test_of_two_that_record_at_the_same_moment_one_is_refused(site):
    """Both have found nothing; the second one writes nothing over the first."""
    one, two = with_secrets(site, new_secret()), with_secrets(site, new_secret())
    with (
        site.database.autocommit.connect() as first,
        site.database.autocommit.connect() as second,
    ):
        assert recorded(first, SECRET) is recorded(second, SECRET) is None
        check_and_record(first, one)
        with pytest.raises(OtherSecret):
            check_and_record(second, two)


def test_the_fingerprint_is_none_of_the_values_that_others_see(site, connection):
    check_and_record(connection, site.cfg)
    found = recorded(connection, SECRET)
    assert len(found) == 64
    assert site.cfg.secret[0].reveal() not in found
    rings = site.app.registry["authsite"].keys
    seen = {rings[name].signing.fingerprint.hex() for name in ("token", "csrf", "installation")}
    assert not [each for each in seen if each in found]


def with_keys(site, *texts, announced=()):
    return replace(
        site.cfg,
        sealing_key=tuple(map(Secret, texts)),
        sealing_key_next=tuple(map(Secret, announced)),
    )


def said(connection, settings):
    return [(known.name, message) for known, message in problems(connection, settings)]


def test_a_sealing_key_is_known_by_its_bytes_and_recorded_once_there_is_one(site, connection):
    check_and_record(connection, with_keys(site))
    assert recorded(connection, SEALING_KEY) is None
    old, new = new_sealing_key(), new_sealing_key()
    check_and_record(connection, with_keys(site, old.upper()))
    check(connection, with_keys(site, old))
    check_and_record(connection, with_keys(site, new, old))
    assert recorded(connection, SEALING_KEY) == fingerprint(SEALING_KEY, Secret(new))
    check_and_record(connection, with_keys(site, old, announced=[new]))  # one step behind
    assert recorded(connection, SEALING_KEY) == fingerprint(SEALING_KEY, Secret(new))


def test_another_sealing_key_and_none_are_refused_and_each_says_what_to_do(site, connection):
    key = new_sealing_key()
    check_and_record(connection, with_keys(site, key))
    for settings, words in (
        (with_keys(site), "is not set here: copy it"),
        (with_keys(site, new_sealing_key()), "another sealing key than AUTHSITE_SEALING_KEY"),
    ):
        [(name, message)] = said(connection, settings)
        assert name == "sealing-key"
        assert words in message
        assert "authsite secret accept" in message
        for refused in (check, check_and_record):
            with pytest.raises(OtherSecret, match="sealing key"):
                refused(connection, settings)
    both = replace(with_keys(site), secret=(Secret(new_secret()),))
    assert [name for name, _ in said(connection, both)] == ["secret", "sealing-key"]
    assert recorded(connection, SEALING_KEY) == fingerprint(SEALING_KEY, Secret(key))


def test_what_is_accepted_is_recorded_also_that_there_is_no_sealing_key(site, connection):
    check_and_record(connection, with_keys(site, new_sealing_key()))
    accepted = replace(with_keys(site), secret=(Secret(new_secret()),))
    record_all(connection, accepted)
    check(connection, accepted)
    assert recorded(connection, SEALING_KEY) is None
    assert recorded(connection, SECRET) == fingerprint(SECRET, accepted.secret[0])
