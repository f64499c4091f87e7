"""/v1/admin/invitations and /admin/invitations."""

import json
from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from tests.support import administrators
from tests.support.invitations import Inviting
from tests.support.mails import html_of, link_in
from tests.support.pages import csrf_of

from .acting import sign_in_was

PATH, PAGE = "/v1/admin/invitations", "/admin/invitations"
WRITE = "admin:invitations:write"


@pytest.fixture
def site(site_with):
    """A site where people register by invitation alone, with a group."""
    made = site_with(**administrators.SETTINGS, registration="invite")
    Inviting(made).group("ops", "<b>Operations</b>")
    return made


class Api:
    """Requests with one header."""

    def __init__(self, site, headers):
        self.site, self.headers = site, headers

    def get(self, path="", status=200):
        return self.site.http.get(f"{PATH}{path}", headers=self.headers, status=status)

    def post(self, path="", status=202, **body):
        return self.site.http.post_json(f"{PATH}{path}", body, headers=self.headers, status=status)

    def delete(self, path, status=204):
        return self.site.http.delete(f"{PATH}{path}", headers=self.headers, status=status)


@pytest.fixture
def security(site):
    user = administrators.make(site, "security")
    return Api(site, administrators.token(site, f"{WRITE} admin:groups:write")), user


@pytest.fixture
def api(site):
    administrators.make(site, "owner")
    return Api(site, administrators.token(site, f"{WRITE} admin:groups:write"))


def code(answer):
    return answer.json["errors"][0]["code"]


def test_invite_show_list_resend_and_revoke(site, api):
    made = api.post(email="Ann@Example.com", group="ops").json
    assert made.keys() == {"id", "email", "group", "expires_at"}
    assert (made["email"], made["group"]) == ("Ann@example.com", "ops")
    [first] = [mail for mail in site.mails() if mail["To"] == "Ann@example.com"]
    one = api.get(f"/{made['id']}").json
    assert one["inviter"]["kind"] == "user"
    assert api.get().json == {"data": [one], "next": None}
    assert link_in(first).rpartition("/")[2] not in json.dumps(one)
    assert api.post(f"/{made['id']}/resend").json["id"] == made["id"]
    [second] = site.mails()
    site.http.get(link_in(first), status=422)
    api.delete(f"/{made['id']}")
    site.http.get(link_in(second), status=422)
    for answer in (
        api.get(f"/{made['id']}", status=404),
        api.delete(f"/{made['id']}", status=404),
        api.post(f"/{made['id']}/resend", status=404),
        api.get("/nonsense", status=404),
    ):
        assert code(answer) == "not_found"
    with site.db() as db:
        events = db.query(AuditEvent).filter(AuditEvent.event.startswith("invitation")).all()
    assert {each.details["actor"]["kind"] for each in events} == {"user"}
    assert "nn@" not in str([each.details for each in events])


def test_the_answer_does_not_tell_whether_there_is_an_account(site, api):
    site.user("ann@example.com", confirmed=True)
    with_account, without = api.post(email="ann@example.com"), api.post(email="bo@example.com")
    assert with_account.json.keys() == without.json.keys()
    assert {mail["To"] for mail in site.mails()} >= {"ann@example.com", "bo@example.com"}
    rows = api.get().json["data"]
    assert rows[0].keys() == rows[1].keys()


def test_a_group_needs_the_permission_for_groups(site, security):
    api, _user = security
    answer = api.post(email="ann@example.com", group="ops", status=403)
    assert code(answer) == "insufficient_scope"
    assert "admin:groups:write" in answer.headers["WWW-Authenticate"]
    assert api.post(email="ann@example.com").json["group"] is None
    client = Api(site, administrators.client(site, WRITE))
    client.post(email="bo@example.com", group="ops", status=403)
    assert client.post(email="bo@example.com").json["email"] == "bo@example.com"


@pytest.mark.parametrize("group", ["authsite:owner", "authsite:viewer", "authsite:anything"])
def test_never_to_a_reserved_group(site, api, group):
    assert code(api.post(email="ann@example.com", group=group, status=403)) == "not_allowed"
    client = Api(site, administrators.client(site, f"{WRITE} admin:groups:write"))
    assert code(client.post(email="ann@example.com", group=group, status=403)) == "not_allowed"
    assert Inviting(site).rows() == []


@pytest.mark.parametrize(
    "body",
    [
        {"email": "ann@example.com", "group": "unknown"},
        {"email": "nonsense"},
        {},
        {"email": "ann@example.com", "groups": ["ops"]},
        {"email": "ann@example.com", "group": "ops", "inviter_id": "x"},
    ],
)
def test_a_body_with_mistakes(site, api, body):
    api.post(status=422, **body)
    assert Inviting(site).rows() == []


@pytest.mark.parametrize("role", ["viewer", "support"])
def test_others_neither_invite_nor_read(site, role):
    administrators.make(site, role)
    api = Api(site, administrators.token(site, WRITE))
    api.get(status=403)
    api.post(email="ann@example.com", status=403)
    api.get("/5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11", status=403)
    api.delete("/5b6f3c0e-8f0c-4c8e-9f57-2f1d0f0a9d11", status=403)


def test_with_off_no_one_is_invited(site_with):
    site = site_with(**administrators.SETTINGS, registration="off")
    api = Api(site, administrators.client(site, WRITE))
    assert code(api.post(email="ann@example.com", status=403)) == "not_allowed"


def test_a_list_goes_on_with_a_cursor_that_is_for_one_caller(site, api):
    for number in range(5):
        api.post(email=f"p{number}@example.com")
    first = api.get("?limit=2")
    assert f'<{PATH}?limit=2&cursor={first.json["next"]}>; rel="next"' == first.headers["Link"]
    api.post(email="new@example.com")  # while the list is read
    second = api.get(f"?limit=2&cursor={first.json['next']}")
    third = api.get(f"?limit=2&cursor={second.json['next']}")
    rows = [row["email"] for part in (first, second, third) for row in part.json["data"]]
    assert rows == [f"p{number}@example.com" for number in (4, 3, 2, 1, 0)]
    assert third.json["next"] is None
    other = Api(site, administrators.client(site, WRITE))
    assert code(other.get(f"?cursor={first.json['next']}", status=400)) == "invalid_cursor"


def test_mails_are_limited_for_each_invitation_and_each_administrator(site_with):
    limits = {"limits": "on", "limits.admin_mail": "8/hour"}
    site = site_with(**administrators.SETTINGS, registration="invite", **limits)
    administrators.make(site, "owner")
    api = Api(site, administrators.token(site, WRITE))
    made = api.post(email="ann@example.com").json
    for _ in range(5):
        api.post(f"/{made['id']}/resend")
    api.post(f"/{made['id']}/resend", status=429)
    api.post(email="bo@example.com")
    assert code(api.post(email="cy@example.com", status=429)) == "too_many_attempts"


def press(site, path, status=303, **fields):
    """Open a confirming page and send its form."""
    token = csrf_of(site.http.get(path, status=200))
    return site.http.post(path, {"csrf_token": token, **fields}, status=status)


def test_the_console_invites_sends_again_and_revokes(site):
    administrators.signed_in(site, "owner")
    assert "No open invitations" in site.http.get(PAGE)
    fields = {"email": "ann@example.com", "group": "ops", "reason": "new <i>here</i>"}
    answer = press(site, f"{PAGE}/new", **fields)
    shown = site.http.get(answer.location)
    assert shown.html.select_one("[role=status]")
    assert shown.html.select_one("table caption").text == "Open invitations"
    assert {each["scope"] for each in shown.html.select("th")} == {"row", "col"}
    row = shown.html.select_one("tbody tr")
    assert [word in row.text for word in ("ann@example.com", "ops", "root@example.com")] == [
        True
    ] * 3
    links = {link.text: link["href"] for link in row.select("a")}
    press(site, links["Send again"])
    mail = [each for each in site.mails() if each["To"] == "ann@example.com"][-1]
    assert "&lt;b&gt;Operations&lt;/b&gt;" in site.http.get(link_in(mail))
    assert "<b>" not in html_of(mail)
    assert link_in(mail) not in site.http.get(PAGE)
    press(site, links["Revoke"])
    assert "No open invitations" in site.http.get(PAGE)
    site.http.get(links["Revoke"], status=404)


def test_the_console_shows_mistakes_and_only_the_groups_that_one_may_choose(site):
    administrators.signed_in(site, "security")
    shown = site.http.get(f"{PAGE}/new")
    assert shown.html.select("select[name=group]") == []
    answer = press(site, f"{PAGE}/new", 422, email="nonsense")
    assert answer.html.select_one("#email-error")
    assert answer.html.select_one("input[name=email]")["value"] == "nonsense"
    press(site, f"{PAGE}/new", 403, email="ann@example.com", group="ops")
    press(site, f"{PAGE}/new", 403, email="ann@example.com", group="authsite:owner")
    assert Inviting(site).rows() == []


def test_the_console_is_closed_to_others(site):
    administrators.signed_in(site, "support")
    for path in (PAGE, f"{PAGE}/new"):
        site.http.get(path, status=403)
    assert f'href="{PAGE}"' not in site.http.get("/admin")


def test_a_form_without_its_token_does_nothing(site):
    administrators.signed_in(site, "owner")
    site.http.post(f"{PAGE}/new", {"email": "ann@example.com"}, status=403)
    assert Inviting(site).rows() == []


def test_reasons_are_in_the_trail(site, api):
    made = api.post(email="ann@example.com", reason="new colleague").json
    api.post(f"/{made['id']}/resend", reason="no mail came")
    path = f"{PATH}/{made['id']}"
    site.http.delete_json(path, {"reason": "x" * 201}, headers=api.headers, status=422)
    site.http.delete_json(path, {"why": "left"}, headers=api.headers, status=422)
    site.http.delete_json(path, {"reason": "left"}, headers=api.headers, status=204)
    with site.db() as db:
        events = db.query(AuditEvent).filter(AuditEvent.event.startswith("invitation")).all()
    assert [each.details["reason"] for each in events] == ["new colleague", "no mail came", "left"]


def test_an_invitation_to_a_group_needs_a_recent_proof(site_with):
    """As a membership does: the invited person may have an account already."""
    site = site_with(**administrators.SETTINGS, admin_idle="2h")
    Inviting(site).group("ops", "Operations")
    administrators.signed_in(site, "owner")
    api = Api(site, administrators.token(site, f"{WRITE} admin:groups:write"))
    sign_in_was(site, timedelta(minutes=40))
    press(site, f"{PAGE}/new", email="ann@example.com")
    asked = press(site, f"{PAGE}/new", 302, email="bo@example.com", group="ops")
    assert "/login/verify?" in asked.location
    api.post(email="cy@example.com", group="ops")
    with site.db() as db:
        db.execute(update(Family).values(auth_at=clock.now() - timedelta(hours=1)))
    api.post(email="dee@example.com")
    refused = api.post(email="ed@example.com", group="ops", status=401)
    assert code(refused) == "insufficient_user_authentication"
    invited = {each["email"] for each in api.get().json["data"]}
    assert invited == {f"{name}@example.com" for name in ("ann", "cy", "dee")}


def test_to_a_group_only_those_send_it_again_who_may_choose_the_group(site, api):
    made = api.post(email="ann@example.com", group="ops").json
    before = api.get(f"/{made['id']}").json["expires_at"]
    administrators.make(site, "security", "security@example.com")
    other = Api(site, administrators.token(site, WRITE, "security@example.com"))
    refused = other.post(f"/{made['id']}/resend", status=403)
    assert 'scope="admin:groups:write"' in refused.headers["WWW-Authenticate"]
    assert other.get(f"/{made['id']}").json["expires_at"] == before
