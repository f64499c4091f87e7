"""The documentation and both ini files know every setting, and no other."""

import re
from dataclasses import fields
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from authsite.platform.settings import Settings, load, rate_limits, read_ini
from authsite.platform.settings.definitions import (
    DEFINITIONS,
    SECTIONS,
    documented_key,
    find_definition,
    normalize,
)
from authsite.platform.settings.sections import LOCALIZED, PROVIDER
from tests.support import settings_reference

ROOT = Path(__file__).resolve().parents[2]
SECRET = "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"
ROW = re.compile(r"^\| `([^`]+)` \| (?:`([^`]+)`|(–|required)) \| (.+) \|$", re.MULTILINE)

DEFAULTS = {
    documented_key(name).removeprefix("authsite."): key.default for name, key in DEFINITIONS.items()
}
DEFAULTS |= {f"limits.{name}": limit.default for name, limit in rate_limits.RATE_LIMITS.items()}
DEFAULTS |= {"clients.<name>.id": None, "clients.<name>.secret": None}
DEFAULTS |= {f"providers.<name>.{key}": each.default for key, each in PROVIDER.items()}
DEFAULTS |= {f"{documented_key(name)[9:]}.<language>": None for name in LOCALIZED}


def rows():
    text = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    return {key: (default, meaning) for key, default, _, meaning in ROW.findall(text)}


def test_each_key_of_the_code_has_one_row_and_each_row_a_key():
    text = (ROOT / "docs/settings.md").read_text(encoding="utf-8")

    assert sorted(key for key, *_ in ROW.findall(text)) == sorted(DEFAULTS)


def test_the_page_and_both_ini_files_are_what_make_reference_writes():
    assert settings_reference.page() == settings_reference.PAGE.read_text("utf-8")
    for path in settings_reference.INIS:
        assert settings_reference.ini(path) == path.read_text("utf-8")


def test_a_text_is_sentences_and_its_first_one_is_the_comment_of_the_ini():
    for section in SECTIONS:
        for each in settings_reference.definitions(section):
            assert re.fullmatch(r"[A-Z`].+\.", each.text), each
    reset = DEFINITIONS["password_breach_check"]
    assert reset.plain_text.endswith(
        " See breached passwords (docs/settings.md#breached-passwords)."
    )
    assert DEFINITIONS["scopes"].plain_text.endswith("; see docs/scopes.md.")
    assert DEFINITIONS["reset_expires_in"].comment == "How long a reset link works, at most a day."


@pytest.mark.parametrize("key", sorted(DEFAULTS))
def test_the_row_of_a_key_names_its_default(key):
    assert rows()[key][0] == (DEFAULTS[key] or "")


@pytest.mark.parametrize("key", sorted(DEFAULTS))
def test_only_the_row_of_a_secret_is_marked_as_secret(key):
    known = find_definition(normalize(key.replace("<name>", "web").replace("<language>", "de")))

    assert rows()[key][1].startswith("**Secret") == known.secret


def test_the_specification_s_variables_are_named_beside_their_key():
    for name, key in DEFINITIONS.items():
        if key.variable:
            assert f"`{key.variable}`" in rows()[documented_key(name).removeprefix("authsite.")][1]


def test_an_attribute_is_the_normalized_key():
    attributes = {each.name for each in fields(Settings)}
    assert attributes == {*DEFINITIONS, "clients", "limit_values", "translated"}
    for name in DEFINITIONS:
        assert normalize(documented_key(name).removeprefix("authsite.")) == name


def test_every_default_is_a_value_that_its_parser_takes():
    for key in DEFINITIONS.values():
        if key.default is not None:
            key.parse(key.default)
    for limit in rate_limits.RATE_LIMITS.values():
        assert rate_limits.rate(limit.default) == limit.default


@pytest.mark.parametrize("file", ["development.ini", "production.ini"])
def test_each_ini_has_one_line_for_each_setting_and_shows_its_default(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = re.findall(r"^(# )?authsite\.(\S+) =(?: (.*))?$", text, re.MULTILINE)

    assert sorted(key for _, key, _ in lines) == sorted(DEFAULTS)
    for comment, key, value in lines:
        if comment:
            assert value == (DEFAULTS[key] or ""), key


@pytest.mark.parametrize("file", ["development.ini", "production.ini"])
def test_each_line_of_an_ini_is_explained_by_a_comment_above(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    setting = re.compile(r"(# )?[a-z_.<>-]+ =")

    for above, line in pairwise(lines):
        if setting.match(line) and not setting.match(above):
            assert above.startswith("# "), line


def test_development_ini_needs_a_secret_only():
    ini = read_ini(ROOT / "development.ini")

    cfg = load(ini, {"AUTHSITE_SECRET": SECRET})

    assert cfg == load({"__file__": ini["__file__"]}, {"AUTHSITE_SECRET": SECRET})


def test_production_ini_has_short_lifetimes_and_takes_the_rest_from_the_environment():
    environ = {"AUTHSITE_SECRET": SECRET, "AUTHSITE_BASE_URL": "https://auth.example.org"}

    cfg = load(read_ini(ROOT / "production.ini"), environ)

    assert cfg.production is True
    assert cfg.expires_in == timedelta(minutes=60)
    assert cfg.refresh_expires_in == timedelta(days=30)
    assert cfg.mail_driver == "smtp"


@pytest.mark.parametrize("file", ["development.ini", "production.ini"])
def test_pserve_finds_the_program_and_the_server(file):
    text = (ROOT / file).read_text(encoding="utf-8")

    assert "use = egg:authsite\n" in text
    assert "[server:main]\n" in text
    assert text.endswith("listen = localhost:6543\n")


@pytest.mark.control("K01")
def test_nothing_in_the_documentation_works_as_a_secret():
    for file in ("docs/settings.md", "development.ini", "production.ini"):
        for word in re.findall(r"[\w-]{32,}", (ROOT / file).read_text(encoding="utf-8")):
            assert "_" in word or word.islower(), word
