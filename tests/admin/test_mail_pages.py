"""The pages of the outbox."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from tests.support import administrators
from tests.support.mails import put
from tests.support.pages import csrf_of

PAGE = "/admin/mail"


@pytest.fixture
def mails(site):
    """The ids of a dead mail, a waiting one and a waiting notice; a supporter is signed in."""
    administrators.signed_in(site, "support")
    with site.db() as db:
        db.query(OutboxMessage).delete()
    found = [put(site, kind=kind) for kind in ("reset", "confirm", "password_changed")]
    with site.db() as db:
        for number, id_ in enumerate(found):
            at = clock.now() - timedelta(minutes=number)
            db.execute(update(OutboxMessage).where(OutboxMessage.id == id_).values(created_at=at))
        db.execute(update(OutboxMessage).where(OutboxMessage.id == found[0]).values(state="dead"))
    return found


def states(site, ids):
    with site.db() as db:
        return [db.get(OutboxMessage, id_).state for id_ in ids]


def test_the_list_offers_what_can_be_done(site, mails):
    page = site.http.get(PAGE)
    rows = page.html.select("tbody tr")
    assert [row.code.text for row in rows] == ["reset", "confirm", "password_changed"]
    assert [[a.text for a in row.find_all("a")] for row in rows] == [
        ["Try again", "Cancel"],
        ["Cancel"],
        [],
    ]
    assert "ann@example.com" not in page.text
    dead = site.http.get(f"{PAGE}?state=dead")
    assert len(dead.html.select("tbody tr")) == 1


@pytest.mark.parametrize(
    ("number", "action", "state"), [(0, "retry", "waiting"), (1, "cancel", "expired")]
)
def test_an_action_is_confirmed_first(site, mails, number, action, state):
    path = f"{PAGE}/{mails[number]}/{action}"
    page = site.http.get(path)
    before = states(site, mails)
    form = {"csrf_token": csrf_of(page), "reason": "Asked by phone."}
    answer = site.http.post(path, form, status=303).follow()
    assert answer.html.find(class_="notice")
    after = states(site, mails)
    assert (before[number], after[number]) != (state, before[number])
    assert after[number] == state


def test_a_notice_cannot_be_canceled_by_its_path(site, mails):
    path = f"{PAGE}/{mails[2]}/cancel"
    form = {"csrf_token": csrf_of(site.http.get(path)), "reason": ""}
    answer = site.http.post(path, form, status=403)
    assert "cannot be canceled" in answer.text
    assert states(site, mails)[2] == "waiting"


def test_a_viewer_is_offered_nothing(site):
    administrators.signed_in(site, "viewer")
    id_ = put(site, kind="reset")
    assert not site.http.get(PAGE).html.select("tbody a")
    site.http.get(f"{PAGE}/{id_}/cancel", status=403)
    site.http.get(f"{PAGE}/x/cancel", status=403)
