"""A cursor is bound to the caller, and to the list with all its filters."""

import pytest

from authsite.admin import lists
from authsite.admin.administrator import COMMAND, Administrator
from authsite.admin.errors import InvalidCursor
from tests.support.acting import acting

LIST = {"list": "clients", "disabled": False}
OTHERS = [
    {"list": "clients", "disabled": None},
    {"list": "clients", "disabled": True},
    {"list": "clients"},
    {"list": "users", "disabled": False},
]


@pytest.mark.parametrize("other", OTHERS)
def test_with_other_filters_it_is_refused(site, other):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        made = lists.cursor(ctx, COMMAND, LIST, ["key"])
        assert lists.after(ctx, COMMAND, LIST, made) == ["key"]
        with pytest.raises(InvalidCursor):
            lists.after(ctx, COMMAND, other, made)


def test_of_another_caller_it_is_refused(site):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        made = lists.cursor(ctx, COMMAND, LIST, ["key"])
        with pytest.raises(InvalidCursor):
            lists.after(ctx, Administrator("client", frozenset()), LIST, made)
