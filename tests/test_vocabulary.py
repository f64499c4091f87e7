"""Identifiers use the words of docs/glossary.md, not the everyday words they replaced."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("authsite", "bench", "clients/python", "examples", "migrations", "tests/support")

# Only words without another use: "line", "point" and "known" also occur in standard terms.
BANNED = {
    "degrading": "fallback storage",
    "desk": "context",
    "door": "view, server",
    "doors": "views, servers",
    "drawer": "module",
    "duty": "leader",
    "edge": "security headers, CORS",
    "house": "package, application",
    "kept": "cached response",
    "living": "active",
    "mistake": "error",
    "mistakes": "errors",
    "nobody": "what is meant: anonymous, no user, unknown",
    "opening": "storage factory",
    "patience": "deadline, timeout",
    "quiet": "suppress",
    "refusal": "error, error response, denial",
    "refusals": "errors, error responses, denials",
    "room": "package",
    "rooms": "packages",
    "settle": "what is done: record_outcome",
    "settled": "what is done",
    "somebody": "what is meant: user, caller",
    "speaks": "error_format",
    "stranger": "unauthenticated caller, unknown account",
    "strangers": "unauthenticated callers, unknown accounts",
    "throttle": "rate limit",
    "told": "recipient",
    "trouble": "error",
    "unsettled": "what is not done",
}


def words(identifier):
    """``_HashPool2`` consists of hash and pool."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)]


def identifiers(tree):
    """Every name that the module gives, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.alias(asname=str()):
                yield node.asname, node.lineno


def banned(identifier):
    """What ``identifier`` has of the banned words, each with what to say instead."""
    return [f"{word} (say: {BANNED[word]})" for word in words(identifier) if word in BANNED]


def modules():
    """Every Python file, from the root."""
    return [
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def test_no_identifier_uses_a_banned_word():
    """Otherwise docs/glossary.md has the word to use, or lacks one."""
    errors = []
    for path in modules():
        found = [(part, 1) for part in path.with_suffix("").parts]
        found += identifiers(ast.parse((ROOT / path).read_text("utf-8")))
        errors += [
            f"{path}:{line}: {identifier}: {', '.join(banned(identifier))}"
            for identifier, line in found
            if banned(identifier)
        ]
    assert errors == []


@pytest.mark.parametrize(
    ("code", "identifier"),
    [
        ("def open_door(): ...", "open_door"),
        ("class DoorKeeper: ...", "DoorKeeper"),
        ("def f(door): ...", "door"),
        ("DOORS = 2", "DOORS"),
        ("self.door = 1", "door"),
        ("import os as door", "door"),
    ],
)
def test_every_kind_of_identifier_is_seen(code, identifier):
    assert [name for name, _ in identifiers(ast.parse(code)) if banned(name)] == [identifier]


def test_a_word_inside_another_word_is_none():
    assert [
        word for word in ("outdoors_list", "gateway", "Household", "knowledge") if banned(word)
    ] == []
