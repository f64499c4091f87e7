"""Which views, and grants, can begin a session or issue tokens for a user: found in the code.

Every call in `authsite` is resolved by the imports of its module. A function that reaches one of
`OPENING` by calls can open something; a view is one of them, or it cannot.
"""

import ast
from collections import defaultdict
from inspect import unwrap
from pathlib import Path

import authsite
from authsite.oauth.grants.table import GRANTS

TOP = Path(authsite.__file__).parent
OPENING = {
    ("authsite.sign_in.sessions.service", "begin"),
    ("authsite.oauth.tokens.issue", "issue"),
    ("authsite.oauth.tokens.issue", "issue_for_code"),
    # The table of grants calls them by a variable; the grants themselves are looked at one by one.
    ("authsite.oauth.grants.table", "execute"),
}
ON_PURPOSE = {"authsite.testing"}
"""What signs in without any proof, for the tests of applications."""


def opening_functions():
    """Every (module, function) that can open something."""
    callers = defaultdict(set)
    for path in TOP.rglob("*.py"):
        module = _module(path)
        if module in ON_PURPOSE:
            continue
        tree = ast.parse(path.read_text())
        names = _imported(tree, module, is_package=path.name == "__init__.py")
        for function in tree.body:
            if isinstance(function, ast.FunctionDef | ast.ClassDef):
                for called in _mentioned(function, names, module):
                    callers[called].add((module, function.name))
    found, waiting = set(OPENING), list(OPENING)
    while waiting:
        for caller in callers[waiting.pop()] - found:
            found.add(caller)
            waiting.append(caller)
    return found


def opening_views(site):
    """Every (route, method) whose view can open something."""
    opening, found = opening_functions(), set()
    for item in site.app.registry.introspector.get_category("views"):
        view = item["introspectable"]
        callable_ = unwrap(view["callable"]) if view["callable"] else None
        if callable_ is None or not view["route_name"]:
            continue
        name = getattr(callable_, "__name__", type(callable_).__name__)
        if (callable_.__module__, name) not in opening:
            continue
        methods = view["request_methods"]
        methods = {methods} if isinstance(methods, str) else set(methods)
        found |= {(view["route_name"], each) for each in methods}
    return found


def opening_grants():
    """The grant types that can open something."""
    opening = opening_functions()
    return {
        name for name, each in GRANTS.items()
        if (each.issue.__module__, each.issue.__name__) in opening
    }  # fmt: skip


def _module(path):
    parts = ["authsite", *path.relative_to(TOP).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree, module, *, is_package):
    """What each imported name of a module stands for: (module, name)."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            for each in node.names:
                found[each.asname or each.name] = (source, each.name)
    return found


def _mentioned(function, names, module):
    """What a function calls, or hands on."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield names.get(node.id, (module, node.id))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            source, name = names.get(node.value.id, ("", ""))
            yield f"{source}.{name}", node.attr
