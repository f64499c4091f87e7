"""Imports point down only: who may know whom, read off the source."""

import ast
from pathlib import Path

import authsite

# From the top layer down; packages of one layer may import each other, in one direction.
LAYERS = (
    "monitoring importing exporting",
    "guards",
    "account",
    "signup personal_tokens",
    "verification recovery",
    "proxy discovery",
    "tasks",
    "oauth",
    "sessions",
    "sign_in",
    "login",
    "users",
    "audit mail logs",
    "user_data",
    "request_context",
    "rate_limit",
    "http passwords installation",
    "request_state",
    "context",
    "settings crypto slots clock cores counters forks db catalogs i18n ids colors addresses "
    "registrations",
)
LAYER = {
    package: layer
    for layer, packages in enumerate(reversed(LAYERS))
    for package in packages.split()
}
VIEW_MODULES = {"api", "pages", "cli"}
VIEW_PACKAGES = {"cli", "openapi", "server"}
TOP = Path(authsite.__file__).parent
MODULES = {
    ".".join(path.relative_to(TOP).with_suffix("").parts).removesuffix(".__init__"): path
    for path in TOP.rglob("*.py")
    if path.parent != TOP or path.stem in LAYER  # the top itself composes the packages
}


def is_view(module):
    package, *inner = module.split(".")
    return package in VIEW_PACKAGES or (bool(inner) and inner[0] in VIEW_MODULES)


def at_run_time(tree):
    """Every node, but for what only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from at_run_time(node)


def imported(module):
    """The modules of ours that ``module`` imports, wherever in it."""
    package = ["authsite", *module.split(".")]
    if MODULES[module].name != "__init__.py":
        package.pop()
    for node in at_run_time(ast.parse(MODULES[module].read_text())):
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


def test_every_package_has_its_layer():
    assert {module.split(".")[0] for module in MODULES} == set(LAYER) | VIEW_PACKAGES
    assert len(EDGES) > 300


def test_imports_point_down():
    packages = [
        (module, target, LAYER[module.split(".")[0]], LAYER[target.split(".")[0]])
        for module, target in EDGES
        if not is_view(module) and not is_view(target)
    ]
    assert [(module, target) for module, target, own, other in packages if own < other] == []


def test_packages_of_one_layer_import_each_other_in_one_direction():
    between = {
        (module.split(".")[0], target.split(".")[0])
        for module, target in EDGES
        if not is_view(module) and not is_view(target)
    }
    assert [(a, b) for a, b in between if a < b and (b, a) in between] == []


def test_only_views_import_views():
    assert [
        (module, target) for module, target in EDGES if is_view(target) and not is_view(module)
    ] == []
