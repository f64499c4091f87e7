"""The benchmarks still fit the code that they measure."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# It imports a module that is given to it at run time (bench/peers/__main__.py).
GIVEN = {"bench.peers.measure"}
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.glob("bench/**/*.py")
]


@pytest.mark.parametrize("module", sorted(set(MODULES) - GIVEN))
def test_each_benchmark_can_be_imported(module):
    importlib.import_module(module)
