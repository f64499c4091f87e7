"""No regular expression of ours takes quadratic time (CWE-1333): review attack.md L4."""

import ast
import warnings
from itertools import product
from pathlib import Path

import pytest

from tests.support.installed import CHECKOUT

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import sre_compile
    import sre_constants
    import sre_parse

USES = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
SAMPLE = [chr(code) for code in (*range(0x100), 0x2003, 0x20AC)]
UNLIMITED = 100  # repetitions; fewer take no time


def patterns():
    """(file:line, pattern) of every regular expression in the code that is one constant."""
    for folder in ("authsite", "clients/python", "bench", "examples"):
        for path in sorted(Path(CHECKOUT, folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and node.func.attr in USES
                    and getattr(node.func.value, "id", None) == "re"
                    and (text := constant(node.args[0])) is not None
                ):
                    yield f"{path.relative_to(CHECKOUT)}:{node.lineno}", text


def constant(node):
    """The text of a string, in which what an f-string inserts is one letter; None for others."""
    if isinstance(node, ast.Constant):
        return node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(getattr(part, "value", "x") if isinstance(part, ast.Constant) else "x"
                       for part in node.values)  # fmt: skip
    return None


class Piece:
    """A part of a pattern: the characters that it can match, and how often."""

    def __init__(self, characters, least=1, most=1, possessive=False):
        self.characters, self.least, self.most = characters, least, most
        self.possessive = possessive


def characters_of(operation, value):
    """The characters of `SAMPLE` that a single character of a pattern can be."""
    tree = sre_parse.parse("x")
    tree.data = [(operation, value)]
    return frozenset(filter(sre_compile.compile(tree).fullmatch, SAMPLE))


def ways(parsed):
    """Every sequence of pieces that the alternatives of a pattern allow, at most a few hundred."""
    found = [[]]
    for operation, value in parsed:
        found = [[*before, *more] for before, more in product(found, ways_of(operation, value))]
    return found[:500]


def ways_of(operation, value):
    name = str(operation)
    if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE"):
        return [[Piece(characters_of(operation, value))]]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, body = value
        inner = ways(body)
        if most == 1 and least == 0:
            return [[], *inner]
        letters = frozenset().union(*map(run_of, inner))
        most = most if most is sre_constants.MAXREPEAT or most >= UNLIMITED else 1
        return [[Piece(letters, least, most, possessive=name == "POSSESSIVE_REPEAT")]]
    if name == "SUBPATTERN":
        return ways(value[-1])
    if name == "ATOMIC_GROUP":
        return ways(value)
    if name == "BRANCH":
        return [way for branch in value[1] for way in ways(branch)]
    return [[]]  # an anchor, a look-around, a back reference


def run_of(pieces):
    """The characters of which a run is matched by ``pieces`` again and again."""
    needed = [each.characters for each in pieces if each.least] or [
        frozenset().union(*(each.characters for each in pieces))
    ]
    return frozenset.intersection(*needed)


def ambiguous(pieces):
    """Whether two unlimited repetitions could share a long text, with what stands between them."""
    for index, first in enumerate(pieces):
        if first.most <= 1 or first.possessive:
            continue
        between = []
        for other in pieces[index + 1 :]:
            common = first.characters & other.characters
            if other.most > 1 and common and all(common & each for each in between):
                return True
            if other.least:
                between.append(other.characters)
                if not common:
                    break
    return False


def bodies(parsed):
    """The body of every unlimited repetition that can give back what it has matched."""
    for operation, value in parsed:
        for part in value if isinstance(value, tuple | list) else ():
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, sre_parse.SubPattern):
                    limit = value[1] if str(operation).endswith("REPEAT") else 0
                    if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and limit >= UNLIMITED:
                        yield each
                    yield from bodies(each)


def is_quadratic(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parsed = sre_parse.parse(pattern)
        repeated = [[*one, *two] for body in bodies(parsed)
                    for one, two in product(ways(body), repeat=2)]  # fmt: skip
        return any(map(ambiguous, [*ways(parsed), *repeated]))


@pytest.mark.parametrize(
    ("pattern", "quadratic"),
    [
        (r"INTO `([^`]+)`\s*(?:\(([^)]*)\))?\s*VALUES\s*", True),
        (r"INTO `([^`]+)`\s*+(?:\(([^)]*)\)\s*+)?VALUES\s*", False),
        (r"(a+)*b", True),
        (r"(a+,)*b", False),
        (r"(a|a)*b", False),  # exponential in theory; the compiler makes one set of it
        (r"\s*a?\s*$", True),
        (r"\s*x\s*$", False),
        (r".*foo.*bar", True),
    ],
)
def test_the_check_finds_what_is_quadratic(pattern, quadratic):
    assert is_quadratic(pattern) == quadratic


def test_no_two_repetitions_can_share_a_run_of_characters():
    found = list(patterns())
    assert len(found) > 60
    assert [f"{where}  {text}" for where, text in found if is_quadratic(text)] == []
