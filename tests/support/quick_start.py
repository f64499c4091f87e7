"""Two things take a fifth of the start of an application, and the tests start thousands.

Pyramid sorts the same view derivers and predicates again for each view: here a sorter remembers its
result until something is added or removed. And for each action `traceback.extract_stack` asks the
file system whether the source files have changed: here it does not ask.
"""

import inspect
import linecache
from functools import wraps
from types import SimpleNamespace

from pyramid.config import actions
from pyramid.util import TopologicalSorter

_RESULT = "sorted_before"


def use():
    """Switch it on in this process; a second call changes nothing."""
    if not hasattr(TopologicalSorter.sorted, "__wrapped__"):
        TopologicalSorter.sorted = _remembering(TopologicalSorter.sorted)
        TopologicalSorter.add = _forgetting(TopologicalSorter.add)
        TopologicalSorter.remove = _forgetting(TopologicalSorter.remove)
        actions.traceback = SimpleNamespace(extract_stack=_extract_stack)


def _remembering(real):
    @wraps(real)
    def sorted_once(sorter):
        if _RESULT not in vars(sorter):
            setattr(sorter, _RESULT, real(sorter))
        return list(vars(sorter)[_RESULT])

    return sorted_once


def _forgetting(real):
    @wraps(real)
    def change(sorter, *arguments, **named):
        vars(sorter).pop(_RESULT, None)
        return real(sorter, *arguments, **named)

    return change


def _extract_stack(limit):
    """The file, line, function and source of the last ``limit`` frames."""
    found, frame = [], inspect.currentframe().f_back
    while frame is not None and len(found) < limit:
        path, number = frame.f_code.co_filename, frame.f_lineno
        source = linecache.getline(path, number).strip()
        found.insert(0, (path, number, frame.f_code.co_name, source))
        frame = frame.f_back
    return found
