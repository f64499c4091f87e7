"""Each process of a run imports other test modules first.

In a clean checkout pytest rewrites the assertions of every module, and keeps the result beside it.
Processes that begin with the same module all do the same work; from different ones on, each finds
most modules rewritten already.
"""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.commands import CHECKOUT


def import_in_turn(arguments, ignored):
    """Import the test modules below ``arguments``, without the folder ``ignored``.

    Nothing is done in a single process, nor for a path of one module. What is wrong with a
    module, the collection says.
    """
    name = os.environ.get("PYTEST_XDIST_WORKER", "")
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    modules = [
        ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)
        for argument in arguments
        for path in sorted(Path(argument).resolve().rglob("test_*.py"))
        if ignored not in path.parents
    ]
    if count == 1 or not modules:
        return
    first = len(modules) * int(name.removeprefix("gw")) // count
    for module in modules[first:] + modules[:first]:
        with suppress(Exception, pytest.skip.Exception):
            import_module(module)
