"""Modules and names that docstrings and comments refer to exist."""

import importlib
import inspect
import re
from types import ModuleType

import pytest

from tests.support.home import CHECKOUT

REFERENCE = re.compile(r"(?<!`)`{1,2}(authsite(?:\.\w+)+)`{1,2}(?!`)")
# What else begins with `authsite.`: files, settings, names of loggers, keys, and former names.
OTHERS = {
    "authsite.css",
    "authsite.env",
    "authsite.mail",
    "authsite.scopes",
}


def references():
    for folder in ("authsite", "bench", "migrations", "tests"):
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            for found in REFERENCE.finditer(path.read_text(encoding="utf-8")):
                yield found[1], path.relative_to(CHECKOUT)


def exists(name):
    """Whether ``name`` is that of a module, or of something in one; not of what it imports."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            fields = inspect.get_annotations(found) if isinstance(found, type) else {}
            found = getattr(found, part, fields.get(part))
            if found is None or isinstance(found, ModuleType):
                return False
        return True
    return False


def test_what_is_referred_to_exists():
    missing = {
        f"{path}: {name}" for name, path in references() if name not in OTHERS and not exists(name)
    }
    assert missing == set()


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("authsite.guards.policy", True),
        ("authsite.guards.policy.insufficient", True),
        ("authsite.users.account.Account.confirmed", True),
        ("authsite.guards.nowhere", False),
        ("authsite.guards.policy.nowhere", False),
        ("authsite.sign_in.password", False),  # imported there, from `methods`
    ],
)
def test_a_name_of_a_module_or_of_its_content_is_found(name, there):
    assert exists(name) is there
