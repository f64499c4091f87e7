"""The order of the tests loses none, and keeps files together."""

from itertools import groupby
from types import SimpleNamespace

import pytest

from tests.support.turns import in_turns


def file(name, *slow):
    """The tests of a file; for each, whether it is slow."""
    return [
        SimpleNamespace(path=name, get_closest_marker=lambda _, found=each: found or None)
        for each in slow
    ]


@pytest.mark.parametrize("slow", [0, 1, 3, 9])
@pytest.mark.parametrize("quick", [0, 1, 6])
def test_each_test_is_taken_once_and_files_stay_together(slow, quick):
    files = [file(f"slow {n}", False, True) for n in range(slow)]
    files += [file(f"quick {n}", False, False) for n in range(quick)]
    items = [item for each in zip(*files, strict=True) for item in each]  # files are mixed
    order = in_turns(items)
    assert sorted(map(id, order)) == sorted(map(id, items))
    assert len(list(groupby(order, key=lambda item: item.path))) == slow + quick


def test_slow_files_are_spread_and_end_before_the_quick_ones():
    items = [item for n in range(6) for item in file(f"quick {n}", False)]
    items += [item for n in range(2) for item in file(f"slow {n}", True)]
    names = [item.path for item in in_turns(items)]
    assert names == [
        "slow 0", "quick 0", "quick 1", "slow 1", "quick 2", "quick 3", "quick 4", "quick 5",
    ]  # fmt: skip
