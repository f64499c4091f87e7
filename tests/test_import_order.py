"""Imports point down only, those of views and of types too: read off the source."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import authsite

# From the top floor down; docs/architecture.md explains them. A package imports only packages of
# lower lines. Packages between which there is a "|" never import each other: they register.
FLOORS = (
    (6, "cli"),
    (6, "server | openapi"),
    (6, "monitoring | transfer"),
    (5, "admin"),
    (5, "providers | invitations"),
    (5, "account | signup | oauth.personal | oauth.authorization"),
    (5, "verification"),
    (5, "recovery"),
    (4, "guards | oauth.proxy | oauth.discovery | groups | checks"),
    (3, "oauth"),
    (2, "sign_in"),
    (1, "users"),
    (0, "platform"),
)
LINE = {
    package: number
    for number, (_floor, line) in enumerate(reversed(FLOORS))
    for package in line.split(" | ")
}
# Where the commands of a package are, and what they share.
COMMANDS = {"cli", "command_line"}
TOP = Path(authsite.__file__).parent
MODULES = {
    ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__"): path
    for path in TOP.rglob("*.py")
    if path.parent != TOP or path.stem in LINE  # the top itself composes the packages
}


def imported(module):
    """The modules of ours that ``module`` imports, wherever in it, also for types alone."""
    package = ["authsite", *module.split(".")]
    if MODULES[module].name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = (
                name.removeprefix("authsite.").split(".") if name.startswith("authsite.") else []
            )
            while parts and ".".join(parts) not in MODULES:
                parts.pop()  # a function or class of that module
            if parts:
                yield ".".join(parts)


def is_command(module):
    return not COMMANDS.isdisjoint(module.split("."))


def package_of(module):
    """The package of `FLOORS` that has the module: the innermost one."""
    while module and module not in LINE:
        module = module.rpartition(".")[0]
    return module


def runs_up(module, target):
    own, other = package_of(module), package_of(target)
    return own != other and LINE[own] <= LINE[other]


def circles():
    """The groups of modules that import each other."""
    waiting = {module: set() for module in MODULES}
    for module, target in edges():
        if module != target:
            waiting[module].add(target)
    while free := [module for module, needed in waiting.items() if not needed]:
        for module in free:
            del waiting[module]
        for needed in waiting.values():
            needed.difference_update(free)
    return waiting  # what is in a circle, and what imports it


@cache
def edges():
    """Each module with each that it imports."""
    return [(module, target) for module in MODULES for target in imported(module)]


def test_every_package_has_its_floor():
    assert {package_of(module) for module in MODULES} == set(LINE)
    assert len(edges()) > 900


def test_the_architecture_page_shows_the_same_floors():
    page = Path(__file__).parents[1] / "docs/architecture.md"
    shown = re.findall(r"^(\d)  (.+?)(?:  .*)?$", page.read_text("utf-8"), re.MULTILINE)
    assert tuple((int(number), packages) for number, packages in shown) == FLOORS


def test_no_import_runs_up_or_to_a_sibling():
    assert [edge for edge in edges() if runs_up(*edge)] == []


def test_only_what_serves_or_runs_commands_composes_the_packages():
    composed = re.compile(
        r'^ *(?:import authsite\b(?!\.)|from authsite import )|"authsite.compose"', re.MULTILINE
    )
    found = {
        package_of(module) for module, path in MODULES.items() if composed.search(path.read_text())
    }
    # `authsite mail run`, `authsite serve`, and commands that read what packages register: by name.
    assert found == {"admin", "server", "platform"}


def test_no_modules_import_each_other_in_a_circle():
    assert circles() == {}


MODULE = re.compile(r"^ *from \.(\w*) import (.+)$", re.MULTILINE)
# Not the types that a comment names.
SCRIPT = re.compile(r'^(?! *(?:/\*)?\*).*(?:from |import\()"\./(\w+)\.js"', re.MULTILINE)


def test_nor_do_those_of_the_client_library():
    files = Path(__file__).parents[1].joinpath("clients/python/authsite_client").glob("*.py")
    needed = {
        path.stem: [each for base, names in MODULE.findall(path.read_text())
                    for each in ([base] if base else names.split(", "))]
        for path in files
    }  # fmt: skip
    assert_no_circle(needed)


@pytest.mark.parametrize("folder", ["static", "static/client"])
def test_nor_do_the_scripts(folder):
    assert_no_circle(
        {path.stem: SCRIPT.findall(path.read_text()) for path in TOP.joinpath(folder).glob("*.js")}
    )


def assert_no_circle(needed):
    """``needed``: what each file imports; raises `graphlib.CycleError`."""
    assert sum(map(len, needed.values())) > 5
    assert set(TopologicalSorter(needed).static_order()) == set(needed)


def test_no_package_imports_a_command_of_another():
    assert [
        (module, target)
        for module, target in edges()
        if is_command(target) and not is_command(module)
    ] == []


def test_no_module_has_more_than_600_lines():
    lists = {"platform/audit/events.py"}  # one list of names, which a reader looks up
    lengths = {
        path.relative_to(TOP).as_posix(): len(path.read_text().splitlines())
        for path in TOP.rglob("*.py")
    }
    lengths = {path: length for path, length in lengths.items() if path not in lists}
    assert {path: length for path, length in lengths.items() if length > 600} == {}
