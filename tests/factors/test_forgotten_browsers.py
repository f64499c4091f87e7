"""Remembered browsers: counted, and forgotten by their user or with a change of factors."""

from authsite.sign_in.factors import remembered
from tests.support.acting import acting


def test_remembered_browsers_are_counted_and_forgotten(ann):
    ann.enroll()
    with ann.site.db() as db:
        remembered.remember(acting(db, ann.site.app.registry["authsite"]), ann.id)
    assert ann.factors()["remembered_browsers"] == 1
    ann.call("delete", "remembered-browsers", 204)
    assert ann.factors()["remembered_browsers"] == 0


def test_a_change_forgets_remembered_browsers(ann):
    ann.enroll()
    with ann.site.db() as db:
        remembered.remember(acting(db, ann.site.app.registry["authsite"]), ann.id)
    ann.call("post", "recovery-codes")
    assert ann.factors()["remembered_browsers"] == 0
