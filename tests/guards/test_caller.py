"""``request.authsite.caller``: documented, JSON-ready attributes (trial 14)."""

import json

import pytest
from pyramid.httpexceptions import HTTPNoContent
from sqlalchemy import update

from authsite.oauth.models import Family
from authsite.platform.runtime import clock
from authsite.sign_in.sessions.models import BrowserSession
from authsite.users.models import User
from tests.support.pages import sign_in
from tests.support.site import bearer

ATTRIBUTES = (
    *("guard", "user", "email", "email_verified"),
    *("scope", "client_id", "client_name", "session_id", "groups"),
    *("acr", "amr", "auth_time"),
)
USER = (
    *("id", "email", "username", "phone", "name"),
    *("confirmed", "email_verified_at", "created_at", "updated_at"),
)


def values(request):
    caller = request.authsite.caller
    shown = {name: getattr(caller, name) for name in ATTRIBUTES if name != "user"}
    user = caller.user and {name: getattr(caller.user, name) for name in USER}
    json.dumps([shown, user])  # without Pyramid's adapters, too
    return {"user": user, **shown}


def build(config):
    for guard in ("api", "web"):
        for name, view in {
            "caller": lambda request: request.authsite.caller,
            "values": values,
            "nested": lambda request: {"by": [request.authsite.caller.user]},
            "mine": user_only,
        }.items():
            config.add_route(f"{guard}.{name}", f"/{guard}/{name}", guard=guard)
            config.add_view(view, route_name=f"{guard}.{name}", renderer="json")


def user_only(request):
    request.authsite.caller.require_user()
    return HTTPNoContent()


@pytest.fixture
def site(host_with):
    made = host_with(build, login_identifiers="email username")
    made.user(confirmed=True, username="annie")
    return made


def test_trial_14_the_caller_of_a_token_is_json_ready(site, frozen):
    keys = site.client(scope="a b", default_scope="b a")
    headers = bearer(site.login(keys)["access_token"])
    me = site.http.get("/v1/user", headers=headers).json
    assert me["username"] == "annie"
    [session] = [
        item
        for item in site.http.get("/v1/user/sessions", headers=headers).json["sessions"]
        if item["current"]
    ]
    wanted = {
        "guard": "api",
        "user": me,
        "email": "ann@example.com",
        "email_verified": True,
        "scope": ["b", "a"],
        "client_id": keys.client_id,
        "client_name": "test",
        "session_id": session["id"],
        "groups": [],
        "acr": "aal1",
        "amr": ["pwd"],
        "auth_time": int(frozen.at.timestamp()),
    }
    assert site.http.get("/api/caller", headers=headers).json == wanted
    assert site.http.get("/api/values", headers=headers).json == wanted
    assert site.http.get("/api/nested", headers=headers).json == {"by": [me]}
    site.http.get("/api/mine", headers=headers, status=204)


def test_trial_14_the_caller_of_a_client_that_acts_for_itself_has_no_user(site):
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["access_token"]
    answer = site.http.get("/api/caller", headers=bearer(token)).json
    assert (answer["user"], answer["client_id"]) == (None, keys.client_id)
    assert (answer["email"], answer["email_verified"]) == (None, False)
    assert site.http.get("/api/values", headers=bearer(token)).json == answer
    refused = site.http.get("/api/mine", headers=bearer(token), status=403)
    assert [item["code"] for item in refused.json["errors"]] == ["user_required"]


def test_trial_14_the_caller_of_a_browser_session_is_json_ready(site):
    sign_in(site)
    answer = site.http.get("/web/caller").json
    assert site.http.get("/web/values").json == answer
    assert sorted(answer) == sorted(ATTRIBUTES)
    assert (answer["guard"], answer["scope"], answer["client_id"]) == ("web", [], None)
    assert (answer["user"]["email"], answer["user"]["username"]) == ("ann@example.com", "annie")
    assert len(answer["session_id"]) == 36
    site.http.get("/web/mine", status=204)


def test_the_caller_has_how_the_user_signed_in_and_the_groups_of_the_user(host_with):
    seen = []

    def look(config):
        for guard in ("api", "web"):
            config.add_route(f"{guard}.look", f"/{guard}/look", guard=guard)
            config.add_view(view, route_name=f"{guard}.look", renderer="json")

    def view(request):
        caller = request.authsite.caller
        seen.append((caller.proved_by, caller.groups))
        return request.authsite.caller

    made = host_with(look)
    ann = made.user(confirmed=True)
    token = bearer(made.login(made.client())["access_token"])
    answer = made.token(made.client("personal"), grant_type="client_credentials")
    machine = bearer(answer.json["access_token"])
    sign_in(made)
    made.http.get("/api/look", headers=token)
    made.http.get("/web/look")
    assert seen == [(("pwd",), ())] * 2
    with made.db() as db:
        db.execute(update(User).where(User.id == ann.id).values(labels="ops finance=aal2"))
        for model in (Family, BrowserSession):
            db.execute(update(model).values(facts='{"amr":["pwd","otp"]}'))
    seen.clear()
    shown = [made.http.get("/api/look", headers=token), made.http.get("/web/look")]
    assert [each.json["groups"] for each in shown] == [["ops", "finance"]] * 2
    assert [(each.json["acr"], each.json["amr"]) for each in shown] == [
        ("aal2", ["pwd", "otp", "mfa"])
    ] * 2
    assert seen == [(("pwd", "otp"), ("ops", "finance"))] * 2
    of_client = made.http.get("/api/look", headers=machine).json
    assert seen[-1] == ((), ())
    assert (of_client["acr"], of_client["amr"], of_client["auth_time"]) == (None, [], None)


def test_the_caller_has_the_time_of_the_proof(host_with, frozen):
    def look(config):
        for guard in ("api", "web"):
            config.add_route(f"{guard}.look", f"/{guard}/look", guard=guard)
            config.add_view(
                lambda request: request.authsite.caller, route_name=f"{guard}.look", renderer="json"
            )

    made = host_with(look)
    made.user()
    now = int(clock.now().timestamp())
    keys = made.client()
    first = made.login(keys)
    sign_in(made)
    frozen.advance(30)
    refreshed = made.token(keys, grant_type="refresh_token", refresh_token=first["refresh_token"])
    token = bearer(refreshed.json["access_token"])
    assert made.http.get("/api/look", headers=token).json["auth_time"] == now
    assert made.http.get("/web/look").json["auth_time"] == now
