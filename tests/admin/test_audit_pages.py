"""The pages of the audit trail: filters, actors, explain, the seals, the download."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from sqlalchemy import insert

from authsite.admin.audit.service import STATES
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from authsite.platform.runtime import clock
from tests.support import administrators

PAGE = "/admin/audit"
XSS = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def fresh(site):
    """Other tests have the same application."""
    STATES.of(site.app.registry["authsite"])["seals"].forget()


def add(site, **row):
    with site.db() as db:
        db.execute(insert(AuditEvent).values(**{"event": "login.failed", "at": clock.now(), **row}))


def rows_of(page):
    return [each.get_text(" ", strip=True) for each in page.html.select("tbody tr")]


def test_an_event_has_its_actor_by_name_and_the_reason(site):
    root = administrators.signed_in(site, "viewer")
    user = site.user("ann@example.com")
    details = Cause("user", str(root.id), "Asked by phone.").details()
    add(site, event="user.disabled", user_id=user.id, details=details)
    (row,) = rows_of(site.http.get(f"{PAGE}?event=user.disabled"))
    assert "ann@example.com" in row
    assert "root@example.com" in row
    assert "reason: Asked by phone." in row


def test_nothing_of_a_user_is_markup(site):
    administrators.signed_in(site, "viewer")
    add(site, agent=XSS, request_id="abc", details={"reason": XSS})
    for path in (f"{PAGE}?event=login.failed", f"{PAGE}?user={XSS}", f"{PAGE}/explain/abc"):
        assert XSS not in site.http.get(path).text


def test_the_list_goes_on_with_its_filters(site):
    administrators.signed_in(site, "viewer")
    for number in range(51):
        add(site, address="203.0.113.7", request_id=f"r{number}")
    first = site.http.get(f"{PAGE}?address=203.0.113.7")
    assert len(rows_of(first)) == 50
    second = first.click(linkid=None, description="Next page")
    assert len(rows_of(second)) == 1
    assert second.html.find(id="address")["value"] == "203.0.113.7"


def test_a_filter_that_cannot_be_understood_is_shown_with_an_error(site):
    administrators.signed_in(site, "viewer")
    page = site.http.get(f"{PAGE}?since=soon")
    field = page.html.find(id="since")
    assert field["aria-invalid"] == "true"
    assert page.html.find(id=field["aria-describedby"])
    assert rows_of(page) == []


def test_a_request_is_explained_in_words(site):
    administrators.signed_in(site, "viewer")
    add(site, request_id="abc", details={"reason": "wrong_password"})
    page = site.http.get(f"{PAGE}?event=login.failed").click(description="Request")
    assert "abc" in page.text
    (row,) = rows_of(page)
    assert len(row) > len("login.failed wrong_password") + 60  # and what both mean
    assert "Tell the person: The e-mail address or password is incorrect." in row
    assert "Tell the developer: Every wrong name, password and disabled user" in row
    site.http.get(f"{PAGE}/explain/other", status=404)


def test_the_page_says_whether_the_seals_hold(site):
    administrators.signed_in(site, "viewer")
    assert "No sealed event was changed" in site.http.get(PAGE).text
    add(site, at=clock.now() - timedelta(hours=2))  # and no process has sealed it
    STATES.of(site.app.registry["authsite"])["seals"].forget()
    assert "do not verify" in site.http.get(PAGE).text


def test_the_download_is_safe_and_an_event(site):
    administrators.signed_in(site, "security")
    add(site, agent="=HYPERLINK(1)", details={"note": "=1"})
    page = site.http.get(f"{PAGE}?event=login.failed")
    answer = page.click(description="Download as a table")
    assert answer.content_type == "text/csv"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    (row,) = csv.DictReader(StringIO(answer.text, newline=""))
    assert row["agent"] == "'=HYPERLINK(1)"
    assert row["details"] == "note==1"
    assert "event=login.failed" in rows_of(site.http.get(f"{PAGE}?event=audit.exported"))[0]


def test_a_viewer_exports_nothing(site):
    administrators.signed_in(site, "viewer")
    assert "audit.csv" not in site.http.get(PAGE).text
    site.http.get("/admin/audit.csv", status=403)


def denied(site):
    """The id of a request that was denied, and its reason: a form of a page of another site."""
    headers = {"Origin": "https://evil.example", "Accept": "text/html"}
    answer = site.http.post("/login", {"username": "a", "password": "b"}, headers, status=403)
    return answer.headers["X-Request-Id"], "The form came from a page of another origin"


def test_the_id_that_a_person_reads_from_an_error_page_leads_to_what_happened(site):
    """A denied request may have no event, so no line of the trail leads to it."""
    answer = site.http.post("/v1/oauth/token", {"grant_type": "telepathy"}, status=400)
    request_id = answer.headers["X-Request-Id"]
    administrators.signed_in(site, "viewer")
    page = site.http.get(PAGE)
    [form] = [each for each in page.forms.values() if "q" in each.fields]
    form["q"] = f" {request_id} "
    shown = form.submit(status=303).follow().html.main.get_text()
    assert request_id in shown
    assert "Tell the person" in shown
    form["q"] = "0123456789abcdef01234567"
    again = form.submit(status=200)
    assert "No request has this id" in again.html.select_one(".notice.warning").text
    assert again.html.select_one("#q")["value"] == "0123456789abcdef01234567"


def test_why_a_request_was_denied_is_on_its_page_once_with_what_to_tell_the_person(site):
    request_id, reason = denied(site)
    administrators.signed_in(site, "viewer")
    shown = site.http.get(f"{PAGE}/explain/{request_id}").html.main.get_text()
    assert shown.count(reason) == 1
    assert "Tell the person" in shown
