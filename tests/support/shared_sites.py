"""Applications that the tests of a process share, since the start is the slow part."""

import gc
from types import FunctionType, NoneType

from authsite.platform.denied_requests.notes import notes_of
from tests.support import databases, mails

_SITES = {}
_RECENT = []  # the sites used last: the others have no connections any more


def get(key, make):
    """The site with this ``key``, which ``make()`` makes the first time.

    The others lose their connections: PostgreSQL takes a hundred, and there are many sites.
    """
    if key not in _SITES:
        _SITES[key] = _out_of_collections(make)
    found = _SITES[key]
    others = [each for each in _RECENT if each is not found]
    for other in others:
        other.database.dispose()
    _RECENT[:] = [*others, found][-4:]
    return found


def _out_of_collections(make):
    """What ``make()`` makes; garbage collections do not look at it, since it is kept.

    With hundreds of applications they took an eighth of the processor time.
    """
    gc.disable()
    try:
        made = make()
    finally:
        gc.enable()
    gc.collect(1)  # what is garbage now would be kept, too
    gc.freeze()
    return made


def emptied(site):
    """``site`` without what another test left there: rows, mails and cookies."""
    if _counts_in_memory(site):
        raise RuntimeError("in the test before, the storage of the limits failed unexpectedly")
    site.new_browser()
    databases.empty(site.database)
    mails.read_folder(site.cfg.mail_folder)
    notes_of(site.app.registry["authsite"]).forget()
    return site


def can_be_asked_for_again(build, options):
    """Whether another test can ask for the same host: all is text, or a function of a module."""
    return all(
        "<locals>" not in each.__qualname__
        if isinstance(each, FunctionType)
        else isinstance(each, (str, bool, NoneType))
        for each in (build, *options.values())
    )


def _counts_in_memory(site):
    """Whether the site counts its limits in its own memory, since their storage has failed."""
    limits = site.app.registry["authsite"].rate_limits
    return limits is not None and getattr(limits.storage, "is_degraded", False)
