"""A cursor is sealed, and bound to the caller, and to the list with all its filters."""

from base64 import urlsafe_b64decode

import pytest

from authsite.admin import lists
from authsite.admin.errors import InvalidCursor
from authsite.admin.guard import COMMAND, Administrator
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


def test_it_does_not_say_what_is_in_the_list(site):
    """It is in addresses, and so in logs and histories."""
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        made = lists.cursor(ctx, COMMAND, LIST, ["ann@example.com"])
        raw = urlsafe_b64decode(made.partition(".")[2])
        assert b"ann" not in raw
        assert "ann" not in made
        assert len({made, lists.cursor(ctx, COMMAND, LIST, ["ann@example.com"])}) == 2


@pytest.mark.parametrize("name", ["a" * 1024, "é" * 1024, "\U0001f600" * 1024])
def test_that_of_the_longest_name_can_be_read(site, name):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        key = [name, "5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11"]
        assert lists.after(ctx, COMMAND, LIST, lists.cursor(ctx, COMMAND, LIST, key)) == key


@pytest.mark.parametrize("text", ["x", "x.y", ".", "é.é", "0" * 9000])
def test_any_other_text_is_refused(site, text):
    with site.db() as db:
        ctx = acting(db, site.app.registry["authsite"])
        with pytest.raises(InvalidCursor):
            lists.after(ctx, COMMAND, LIST, text)
        made = lists.cursor(ctx, COMMAND, LIST, ["key"])
        with pytest.raises(InvalidCursor):
            lists.after(ctx, COMMAND, LIST, made.partition(".")[0] + "." + text)
