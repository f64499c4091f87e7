"""The pages of clients, and where the secret is."""

import pytest
from sqlalchemy import select

from authsite.groups import service as groups
from authsite.groups.service import GroupValues
from authsite.oauth.models import Client
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from tests.support import administrators
from tests.support.factors import context
from tests.support.pages import csrf_of

CALLBACK = "https://wiki.example.org/callback"


@pytest.fixture
def owner(site):
    return administrators.signed_in(site, "owner")


def act(site, path, status=303, **fields):
    token = csrf_of(site.http.get(path, status=200))
    return site.http.post(path, {"csrf_token": token, **fields}, status=status)


def newest(site):
    with site.db() as db:
        return db.scalars(select(Client).order_by(Client.created_at.desc())).first()


def test_the_secret_is_in_the_answer_to_the_form_alone(site, owner):
    fields = {"name": "Wiki", "type": "server", "redirect_uris": CALLBACK, "reason": "new wiki"}
    answer = act(site, "/admin/clients/new", 200, **fields)
    assert answer.headers["Cache-Control"] == "no-store"
    secret = answer.html.select("code.secret")[0].text
    made = newest(site)
    page = site.http.get(f"/admin/clients/{made.id}", status=200)
    assert secret not in page.text
    assert CALLBACK in page.text
    with site.db() as db:
        events = db.scalars(select(AuditEvent).where(AuditEvent.event == "client.created")).all()
    assert events[-1].details["actor"] == {"kind": "user", "id": str(owner.id)}
    assert secret not in str([event.details for event in events])


def test_a_public_app_has_no_secret(site, owner):
    fields = {"name": "App", "type": "browser", "redirect_uris": CALLBACK}
    answer = act(site, "/admin/clients/new", **fields)
    page = site.http.get(answer.location, status=200)
    assert "New secret" not in page.text


def test_a_wrong_value_is_shown_with_what_was_typed(site, owner):
    page = act(site, "/admin/clients/new", 422, name="Wiki", type="server", scope="x")
    assert page.html.find(id="name")["value"] == "Wiki"
    assert "redirect URI" in page.html.select(".summary")[0].text
    assert newest(site) is None


def test_all_values_are_changed(site, owner):
    act(site, "/admin/clients/new", 200, name="Wiki", type="server", redirect_uris=CALLBACK)
    made = newest(site)
    with site.db() as db:
        groups.create(context(site, db), "ops", GroupValues("Ops"), Cause("command"))
    path = f"/admin/clients/{made.id}/change"
    form = site.http.get(path, status=200).forms[1]
    assert form["redirect_uris"].value == CALLBACK
    form["require_group"], form["first_party"], form["tos_uri"] = "ops", "on", f"{CALLBACK}/tos"
    form["id_token_lifetime"], form["consent"] = "300", "none"
    form.submit(status=303)
    changed = newest(site)
    assert (changed.require_group, changed.first_party) == ("ops", True)
    assert changed.no_consent
    assert (changed.id_token_lifetime, changed.tos_uri) == (300, f"{CALLBACK}/tos")
    form = site.http.get(path, status=200).forms[1]
    form["require_group"] = ""
    form.submit(status=303)
    assert newest(site).require_group is None
    assert newest(site).first_party


def test_secrets_are_rotated_and_retired(site, owner):
    keys = site.client(name="Shop")
    path = f"/admin/clients/{keys.client_id}"
    answer = act(site, f"{path}/rotate-secret", 200)
    new = answer.html.select("code.secret")[0].text
    assert new != keys.client_secret
    assert "Retire the older secret" in site.http.get(path)
    act(site, f"{path}/retire-secret")
    site.user()
    form = {"grant_type": "password", "username": "ann@example.com", "password": "x"}
    old = site.http.post("/v1/oauth/token", keys.form(**form), status=401)
    assert old.json["error"] == "invalid_client"


def test_disable_and_enable(site, owner):
    keys = site.client(name="Shop")
    path = f"/admin/clients/{keys.client_id}"
    act(site, f"{path}/disable", reason="leaked")
    assert newest(site).disabled_at
    assert "Disabled" in site.http.get(path)
    act(site, f"{path}/enable")
    assert newest(site).disabled_at is None


def test_the_page_says_how_the_client_is_used(site, owner):
    site.user()
    keys = site.client(name="Shop")
    page = site.http.get(f"/admin/clients/{keys.client_id}")
    assert usage(page) == ("–", "0")
    for _ in range(2):
        site.login(keys)
    when, number = usage(site.http.get(f"/admin/clients/{keys.client_id}"))
    assert when != "–"
    assert number == "2"


def usage(page):
    facts = {each.dt.text: each.dd.text for each in page.html.select("dl.pairs div")}
    return facts["Last use"], facts["Sign-ins lately"]


def test_a_viewer_reads_alone(site):
    keys = site.client(name="<b>Shop</b>")
    administrators.signed_in(site, "viewer")
    page = site.http.get("/admin/clients?q=shop", status=200)
    assert "<b>Shop</b>" in [link.text for link in page.html.select("tbody a")]
    assert "<b>Shop</b>" not in page.text
    assert all(cell["scope"] for cell in page.html.select("th"))
    one = site.http.get(f"/admin/clients/{keys.client_id}", status=200)
    assert not one.html.select("nav[aria-label=Actions]")
    for action in ("change", "rotate-secret", "retire-secret", "disable", "enable"):
        site.http.get(f"/admin/clients/{keys.client_id}/{action}", status=403)
    site.http.get("/admin/clients/new", status=403)
    assert "has “nothing” in its name" in site.http.get("/admin/clients?q=nothing")
