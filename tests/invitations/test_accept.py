"""Accept an invitation: register by it, or join a group with an account that is there."""

import pytest
from sqlalchemy import delete, update

from authsite.groups import members
from authsite.groups import service as groups
from authsite.invitations import service
from authsite.invitations.models import Invitation
from authsite.platform.audit.models import AuditEvent
from authsite.platform.runtime import clock
from authsite.users.groups.labels import Group
from tests.support.factors import add_totp, context
from tests.support.invitations import COMMAND
from tests.support.pages import sign_in, submit
from tests.support.site import PASSWORD


def event(site, name):
    with site.db() as db:
        return db.query(AuditEvent).filter_by(event=name).one()


def test_the_page_of_the_link_registers_and_signs_in(site, inviting):
    link = inviting.link(group="ops")
    assert link.startswith("http://localhost/invitation/")
    before = site.events()
    shown = site.http.get(link)
    assert "Operations" in shown
    assert shown.headers["Cache-Control"] == "no-store"
    assert shown.html.select_one("[data-address='/invitation']")
    assert (site.events(), inviting.user()) == (before, None)  # opening it changes nothing
    answer = inviting.accept(link)
    assert (answer.status_int, answer.location) == (303, "http://localhost/account")
    assert site.http.get("/account", status=200)
    user = inviting.user()
    assert (user.origin, user.labels) == ("invited", "ops")
    assert user.email_verified_at is not None
    assert inviting.rows() == []
    accepted = event(site, "invitation.accepted")
    assert accepted.user_id == user.id
    assert accepted.details["inviter"] == {"kind": "command", "id": None}
    assert "ann@example.com" not in str([accepted.details, event(site, "invitation.sent").details])


def test_the_first_field_has_the_focus(site, inviting):
    form = site.http.get(inviting.link()).html.select_one("#token-form")
    first = form.select_one(".field input")
    assert [each["name"] for each in form.select("[autofocus]")] == [first["name"]]


def test_a_link_works_once(site, inviting):
    link = inviting.link()
    shown = site.http.get(link)
    inviting.accept(link)
    site.http.reset()
    for answer in (site.http.get(link, status=422), inviting.post(link, password=PASSWORD)):
        assert answer.status_int == 422
        assert "This invitation does not work" in answer
        assert "ann@example.com" not in answer
    assert shown.status_int == 200


@pytest.mark.parametrize(
    "forge", [lambda text: text[:-1] + "!", lambda text: text[1:], lambda _: "x"]
)
def test_a_forged_link_opens_nothing(site, inviting, forge):
    link = inviting.link()
    start, _, token = link.rpartition("/")
    site.http.get(f"{start}/{forge(token)}", status=422)


def test_a_form_with_mistakes_leaves_the_invitation_as_it_is(site, inviting):
    link = inviting.link()
    answer = inviting.accept(link, password="short")
    assert answer.status_int == 422
    assert answer.html.select_one("#password-error")
    assert inviting.accept(link, password="").status_int == 422
    assert inviting.accept(link).status_int == 303


def test_no_other_address_can_be_registered(site, inviting):
    link = inviting.link()
    inviting.accept(link, email="eve@evil.example", group="authsite:owner", labels="ops")
    assert inviting.user("eve@evil.example") is None
    assert inviting.user().labels is None


def test_the_invited_with_an_account_joins_the_group_when_signed_in(site, inviting):
    site.user(confirmed=True)
    link = inviting.link(group="ops")
    shown = site.http.get(link)
    assert shown.html.select("input[name=password]") == []
    answer = inviting.post(link, password="another horse 77 tea")
    assert answer.status_int == 403  # not signed in
    to_login = shown.html.select_one("main a.button")["href"]
    form = site.http.get(to_login).forms[0]
    assert form["username"].value == "ann@example.com"
    form["password"] = PASSWORD
    assert form.submit().location == link  # which leads back
    answer = inviting.accept(link)
    assert answer.status_int == 303
    assert "Invitation accepted" in site.http.get(answer.location)
    assert inviting.user().labels == "ops"
    assert event(site, "group.member_added").details["actor"]["kind"] == "command"
    assert inviting.post(link).status_int == 422


def test_another_user_cannot_accept(site, inviting):
    site.user(confirmed=True)
    site.user("eve@evil.example", confirmed=True)
    link = inviting.link(group="ops")
    sign_in(site, "eve@evil.example")
    assert "Sign out first" in site.http.get(link)
    assert inviting.post(link).status_int == 403
    assert inviting.user("eve@evil.example").labels is None
    assert len(inviting.rows()) == 1


def test_an_account_that_has_not_confirmed_the_address_accepts_nothing(site, inviting):
    site.user()  # perhaps by someone else, who knows the password
    link = inviting.link(group="ops")
    sign_in(site)
    assert "never been confirmed" in site.http.get(link)
    assert inviting.post(link).status_int == 403
    assert inviting.user().labels is None
    submit(site, "/email/link", email="ann@example.com")  # the way out that the page names
    assert site.mails()


def test_a_user_with_a_second_factor_is_not_signed_in_by_an_invitation(site, inviting):
    user = site.user(confirmed=True)
    add_totp(site, user)
    link = inviting.link(group="ops")
    assert inviting.post(link).status_int == 403
    site.http.get("/account", status=302)


@pytest.mark.parametrize("ends", ["revoked", "resent", "expired", "group deleted", "group is new"])
def test_a_link_ends(site, inviting, ends):
    row = inviting.invite(group="ops")
    link = inviting.mailed()
    with site.db() as db:
        ctx = context(site, db)
        if ends == "revoked":
            service.revoke(ctx, row.id, COMMAND)
        elif ends == "resent":
            service.resend(ctx, row.id, COMMAND)
        elif ends == "expired":
            db.execute(update(Invitation).values(expires_at=clock.now()))
        else:
            groups.delete(ctx, "ops", COMMAND)
            if ends == "group is new":
                db.flush()
                groups.create(ctx, "ops", groups.GroupValues("Others"), COMMAND)
    site.http.get(link, status=422)
    assert inviting.post(link, password=PASSWORD).status_int == 422
    assert inviting.user() is None
    if ends == "resent":
        assert inviting.accept(inviting.mailed()).status_int == 303


def test_a_mail_that_waits_is_not_sent_for_a_revoked_invitation(site, inviting):
    row = inviting.invite()
    with site.db() as db:
        service.revoke(context(site, db), row.id, COMMAND)
    assert site.mails() == []


def test_the_link_expires_after_seven_days(site, inviting, frozen):
    link = inviting.link()
    frozen.advance(7 * 86400 - 60)
    site.http.get(link, status=200)
    frozen.advance(60)
    site.http.get(link, status=422)


def test_a_thirty_first_group_is_refused(site, inviting, monkeypatch):
    monkeypatch.setattr(members, "MAX_GROUPS", 0)
    answer = inviting.accept(inviting.link(group="ops"))
    assert answer.status_int == 422
    assert inviting.user() is None
    assert len(inviting.rows()) == 1


def test_with_off_nothing_is_accepted(inviting, sites):
    link = inviting.link()
    off = sites(registration="off")
    off.http.get(link.removeprefix("http://localhost"), status=404)


def test_domains_do_not_bind_an_invitation(inviting, sites):
    link = inviting.link("ann@other.example")
    inviting.site = sites(registration="domains", registration_domains="corp.example")
    assert inviting.accept(link).status_int == 303
    assert inviting.user("ann@other.example")


def test_registering_without_an_invitation_is_closed(site):
    site.http.get("/register", status=404)
    site.http.post_json(
        "/v1/register", {"email": "a@example.com", "password": PASSWORD}, status=404
    )
    assert "Create an account" not in site.http.get("/login")


def test_the_password_is_rated_while_it_is_typed(site, inviting):
    link = inviting.link()
    shown = site.http.get(link)
    form = {name: shown.forms[0][name].value for name in ("csrf_token", "token")}
    answer = site.http.post("/invitation/check", {**form, "password": "ann@example.com"})
    assert answer.json["level"] < 3


def test_terms_must_be_accepted(inviting, sites):
    link = inviting.link()
    inviting.site = sites(registration="invite", terms_url="https://x.example/terms")
    assert inviting.accept(link).status_int == 422
    assert inviting.accept(link, terms_accepted="1").status_int == 303
    assert inviting.user().terms_url == "https://x.example/terms"


@pytest.fixture(autouse=True)
def no_groups_of_others(site):
    yield
    with site.db() as db:
        db.execute(delete(Group))
