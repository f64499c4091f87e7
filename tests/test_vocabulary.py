"""Identifiers use the words of docs/glossary.md, and texts are plain standard English."""

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

PAGES = ("*.md", "docs/*.md", "examples/*/*.md")
# Phrases that are translated from another language, or that do not say whom they mean.
PHRASES = {
    r"(?<!there )(?<!there's )\b(?:is|are|was|were) no (?!longer|more|one\b)": "is not a",
    r"\bmeanwhile\b": "when: during the import, until then",
    r"\bof (?:its|their|his|her) own\b": "separate; its own …",
    r"\bso many\b(?! \w+ that)": "this number of",
    r"\b(?:nobody|somebody)\b": "who is meant: no user, an attacker, a person",
    r"\b(?:whoever|whomever)\b": "a person who",
    r"\banew\b": "again",
    r"\b(?:since|because|than|but|to) who (?:has|knows|may|reads|lost)\b": "a noun before who",
    r"(?:^|[.] )who (?:holds|takes|loses|lost) |: who (?:has|holds) ": "a noun before who",
    r"(?:^|[.:;] )what is (?:no|not) ": "a noun as the subject",
    r"\b[Tt]raps? S?\d|\b[AB][12]-[A-Z]\w*\d": "the reason: the list with this number is elsewhere",
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


def prose_of_python(text):
    """The comments and docstrings of a module, with their lines."""
    comment, begin = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        _, mark, words_ = f" {line}".partition(" # ")
        if mark:
            begin = begin if comment else number
            comment.append(words_)
        elif comment:
            yield " ".join(comment), begin
            comment = []
    for found in re.finditer(r'(^ *r?)?"{3}(.*?)"{3}', text, re.M | re.S):
        if found[1] is not None:  # else a value
            yield found[2], text.count("\n", 0, found.start()) + 1


def prose_of_page(text):
    """The paragraphs and rows of a page in Markdown, without blocks of code, with their lines."""
    text = re.sub(
        r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S
    )
    line = 1
    for paragraph in re.split(r"(?<=\n)(?=\n|\||- |#)", text):
        yield paragraph, line
        line += paragraph.count("\n")


def phrases(prose):
    """The `PHRASES` in a text, without what it quotes as code."""
    plain = " ".join(re.sub(r"``.*?``|`[^`]*`|\S+@\S+", "…", prose, flags=re.S).split())
    return [
        f"{found[0].strip()} (say: {instead})"
        for phrase, instead in PHRASES.items()
        for found in re.finditer(phrase, plain, re.I)
    ]


def test_comments_docstrings_and_pages_are_plain_english():
    python = [*modules(), *(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))]
    found = [
        (path, line, prose)
        for path in dict.fromkeys(python)
        for prose, line in prose_of_python((ROOT / path).read_text("utf-8"))
    ]
    found += [
        (path.relative_to(ROOT), line, prose)
        for pattern in PAGES
        for path in sorted(ROOT.glob(pattern))
        for prose, line in prose_of_page(path.read_text("utf-8"))
    ]
    assert len(found) > 5000
    assert [
        f"{path}:{line}: {each}" for path, line, prose in found for each in phrases(prose)
    ] == []


@pytest.mark.parametrize(
    "prose",
    [
        "A query is no part of a path.",
        "The service may run meanwhile.",
        "Each has a key of\n    its own.",
        "Nobody reads it.",
        "Who holds a token may use it.",
        "The key is lost: who has the file has it, too.",
        "What is no token is refused.",
        "The URI is compared as it is (trap 3).",
    ],
)
def test_each_phrase_is_seen(prose):
    assert phrases(prose)


@pytest.mark.parametrize(
    "prose",
    [
        "There is no such file.",
        "It is no longer valid.",
        "The user, who has signed in, reads it.",
        "Mails to `nobody` and nobody@example.com are not sent.",
    ],
)
def test_plain_sentences_are_not_phrases(prose):
    assert phrases(prose) == []
