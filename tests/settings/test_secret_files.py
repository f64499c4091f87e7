"""A secret that is read from a file (``AUTHSITE_…_FILE``)."""

import pytest

from authsite.platform.settings import Secret, SettingsError, load
from tests.support.site import SECRET as GOOD

OLD = "9JqLw2-VtZr8_bNcX4mKsP6dYhG1fT3u"


def message(**environ):
    with pytest.raises(SettingsError) as refused:
        load({}, environ)
    return str(refused.value)


def test_a_file_wins_over_the_ini(tmp_path):
    file = tmp_path / "secret"
    file.write_text(GOOD)

    assert load({"authsite.secret": OLD}, {"AUTHSITE_SECRET_FILE": str(file)}).secret == (
        Secret(GOOD),
    )


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    empty, binary, large = (tmp_path / name for name in ("empty", "binary", "large"))
    empty.write_text("\n")
    binary.write_bytes(b"\xff" * 40)
    large.write_bytes(b"x" * 70000)
    for path, reason in (
        (tmp_path / "missing", "No such file"),
        (tmp_path, "Is a directory"),
        (empty, "the file is empty"),
        (binary, "not text in UTF-8"),
        (large, "larger than 64 KiB"),
        ("a\0b", "not the name of a file"),
    ):
        error = message(AUTHSITE_SECRET_FILE=str(path))
        assert error.startswith("One setting is wrong:")
        assert f"authsite.secret (from AUTHSITE_SECRET_FILE) = {str(path)!r}: " in error
        assert reason in error


def test_a_secret_given_twice_is_refused(tmp_path):
    file = tmp_path / "secret"
    file.write_text(GOOD)

    error = message(AUTHSITE_SECRET_FILE=str(file), AUTHSITE_SECRET=GOOD)

    assert "AUTHSITE_SECRET is set too; keep one of the two" in error
