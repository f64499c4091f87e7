"""Imports point down only: who may know whom, read off the source."""

import ast
from pathlib import Path

import authsite

# From the top floor down; rooms on one floor may know each other, in one direction.
FLOORS = (
    "guards",
    "account",
    "signup",
    "verification recovery",
    "janitor",
    "oauth",
    "login",
    "users",
    "http throttle audit mail ops",
    "settings keys clock cores background db i18n texts colours",
)
FLOOR = {room: floor for floor, rooms in enumerate(reversed(FLOORS)) for room in rooms.split()}
DOOR_FILES = {"api", "pages", "cli"}
DOOR_ROOMS = {"proxy", "cli", "openapi"}
TOP = Path(authsite.__file__).parent
MODULES = {
    ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__"): path
    for path in TOP.rglob("*.py")
    if path.parent != TOP or path.stem in FLOOR  # the top itself composes the rooms
}


def is_door(module):
    room, *inner = module.split(".")
    return room in DOOR_ROOMS or (bool(inner) and inner[0] in DOOR_FILES)


def imported(module):
    """The modules of ours that ``module`` imports, wherever in it."""
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


EDGES = [(module, target) for module in MODULES for target in imported(module)]


def test_every_room_has_its_floor():
    assert {module.split(".")[0] for module in MODULES} == set(FLOOR) | DOOR_ROOMS
    assert len(EDGES) > 300


def test_imports_point_down():
    rooms = [
        (module, target, FLOOR[module.split(".")[0]], FLOOR[target.split(".")[0]])
        for module, target in EDGES
        if not is_door(module) and not is_door(target)
    ]
    assert [(module, target) for module, target, own, other in rooms if own < other] == []


def test_rooms_of_one_floor_know_each_other_in_one_direction():
    between = {
        (module.split(".")[0], target.split(".")[0])
        for module, target in EDGES
        if not is_door(module) and not is_door(target)
    }
    assert [(a, b) for a, b in between if a < b and (b, a) in between] == []


def test_only_doors_import_doors():
    assert [
        (module, target) for module, target in EDGES if is_door(target) and not is_door(module)
    ] == []
