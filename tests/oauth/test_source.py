"""What the source itself must and must not do with secrets."""

import ast
from pathlib import Path

import pytest

import authsite

PACKAGE = Path(authsite.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# A name with one of these in it holds something whose comparison must take constant time.
SECRET_WORDS = ("secret", "mac", "signature", "digest", "password_hash", "hashed", "csrf")
# Names of the same words that hold no secret.
HARMLESS = ("secret_file", "machine")


def name_of(node):
    """The last name in ``a.b[c]``, or nothing."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    if isinstance(node, ast.Attribute):
        return node.attr.lower()
    return node.id.lower() if isinstance(node, ast.Name) else ""


def is_secret(node):
    name = name_of(node)
    return any(word in name for word in SECRET_WORDS) and not any(word in name for word in HARMLESS)


def is_column(node):
    """``User.password_hash``: the database compares."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id[:1].isupper()
    )


def naive_comparisons(tree):
    """Comparisons by == and != in which a side is named as a secret is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(
            isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops
        ):
            sides = [node.left, *node.comparators]
            harmless = any(isinstance(side, ast.Constant) or is_column(side) for side in sides)
            if any(is_secret(side) for side in sides) and not harmless:
                yield node


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


@pytest.mark.control("T01")
def test_no_file_gets_its_chance_from_the_random_module():
    found = [path for path in FILES if "random" in imports(ast.parse(path.read_text()))]
    assert found == []
    assert "random" in imports(ast.parse("from random import choice"))


def test_the_search_for_comparisons_finds_one():
    bad = ast.parse("if given_secret == row.secret_hash: ok()\nif kind == 'secret': ok()")
    assert len(list(naive_comparisons(bad))) == 1


@pytest.mark.control("T03")
def test_no_secret_is_compared_with_equals():
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in FILES
        for node in naive_comparisons(ast.parse(path.read_text()))
    ]
    assert found == []
