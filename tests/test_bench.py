"""The benchmarks still fit the code that they measure."""

import importlib
from pathlib import Path

import pytest

from bench import growth_tables
from bench.parts import __main__ as parts
from bench.peers import table
from tests.support import plans

ROOT = Path(__file__).parents[1]
# They import modules that are given to them at run time (bench/peers/__main__.py), or Django.
GIVEN = {"bench.peers.measure", "bench.peers.logins"}
APART = ("bench.peers.toolkit.", "bench.peers.two_steps.")
MODULES = sorted(
    name
    for path in ROOT.glob("bench/**/*.py")
    if (name := ".".join(path.relative_to(ROOT).with_suffix("").parts)) not in GIVEN
    and not name.startswith(APART)
)


@pytest.mark.parametrize("module", MODULES)
def test_each_benchmark_can_be_imported(module):
    importlib.import_module(module)


def test_the_table_of_the_peers_is_written_between_its_marks_and_only_by_a_run_that_counts():
    row = {"rps": 1234.5, "rps_all": [1234.5], "bad_status": 0, "foreign_cores": 0.02}
    ours = {own: dict(row) for own, _words in table.RATES.values()}
    peer = {"postgres adapter, 1 process: userinfo": dict(row, rps=99.94)}
    results = {table.OURS: ours, "oidc": peer}
    run = {"results": results, "when": "2026-11-26T14:23:33+00:00", "machine": "2 x cores"}
    text = (ROOT / "docs" / "performance.md").read_text()
    page = table.page(run, text)
    [line] = [line for line in page.splitlines() if line.startswith("| userinfo | **")]
    assert line == "| userinfo | **1,234** | — | — | — | — | 99.9 | — |"
    assert "26 November 2026" in page
    assert page.partition(table.MARKS[0])[0] == text.partition(table.MARKS[0])[0]
    assert page.partition(table.MARKS[1])[2] == text.partition(table.MARKS[1])[2]
    for wrong in ({"foreign_cores": 0.2}, {"bad_status": 1}):
        ours["userinfo"] = row | wrong
        with pytest.raises(SystemExit, match="idle machine"):
            table.page(run, text)
    del ours["userinfo"]
    with pytest.raises(SystemExit, match="Not measured: userinfo"):
        table.page(run, text)


def test_the_interval_by_rank_has_the_median_in_95_percent():
    # Binomial distribution with 20 tries: at most 5 in 2.07 % of all samples, at most 6 in 5.77 %.
    assert parts.lower_rank(20) == 5
    assert parts.lower_rank(6) == 0
    values = [float(number) for number in range(1, 21)]
    assert parts.ratio(values, [1.0] * 20) == (10.5, 6.0, 15.0)


def test_growth_fills_each_table_that_grows():
    made = {name for name, _statement in growth_tables.statements()}
    assert made | growth_tables.OTHERS == plans.GROWING | {growth_tables.CLIENTS}
