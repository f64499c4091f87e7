"""Pyramid sorts the same view derivers and predicates again for each view.

That is an eighth of the start of an application, and the tests start thousands. Here a sorter
remembers its result until something is added or removed.
"""

from functools import wraps

from pyramid.util import TopologicalSorter

_RESULT = "sorted_before"


def use():
    """Switch it on in this process; a second call changes nothing."""
    if not hasattr(TopologicalSorter.sorted, "__wrapped__"):
        TopologicalSorter.sorted = _remembering(TopologicalSorter.sorted)
        TopologicalSorter.add = _forgetting(TopologicalSorter.add)
        TopologicalSorter.remove = _forgetting(TopologicalSorter.remove)


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
