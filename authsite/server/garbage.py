"""The garbage collector while a process starts."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Import and set up without garbage collections; none looks at the result later, either.

    Modules, routes and settings live as long as the process, so collections that search them only
    take time. Workers that are forked later share their memory (documentation of `gc.freeze`).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
