"""A refused request of an administrator names all mistakes, to those alone who may act there."""

from uuid import uuid4

import pytest
from pyramid.interfaces import IRoutesMapper

from tests.step_up.people import enter
from tests.support import administrators
from tests.support.pages import csrf_of
from tests.support.site import bearer

LONG = "x" * 5000
CONTROL = "a\u2028b"
ANN, BO = "ann@example.com", "bo@example.com"
USER, GROUP, CLIENT = "/users/{ann.id}", "/groups/staff", "/clients/{wiki}"
API = [
    (f"post {USER}/disable", {"more": 1}, "more reason"),
    (f"post {USER}/confirm", {"more": 1, "reason": CONTROL}, "more reason"),
    (f"post {USER}/enable", {"more": 1}, "more"),
    (f"post {USER}/enable", {"more": 1, "reason": "x" * 201}, "more reason"),
    (f"post {USER}/reset-factors", {"more": 1}, "more reason"),
    (f"delete {USER}/limits", {"more": 1}, "more reason"),
    (f"patch {USER}", {"name": CONTROL, "username": "a b", "phone": "12"},
     "name phone reason username"),
    (f"patch {USER}", {"name": LONG, "username": "bobby77"}, "name reason username"),
    (f"patch {USER}", {"username": "bobby77", "phone": "030 2345678", "reason": CONTROL},
     "phone reason username"),
    (f"patch {USER}", {"username": LONG}, "reason username"),
    (f"post {USER}/change-email", {"confirmed": "x"}, "confirmed email reason"),
    (f"post {USER}/change-email", {"email": "nonsense"}, "email reason"),
    (f"post {USER}/change-email", {"email": BO}, "email reason"),
    (f"post {USER}/change-email", {"email": BO, "confirmed": "x"}, "confirmed email reason"),
    (f"delete {USER}", {}, "email reason"),
    (f"delete {USER}", {"email": BO, "more": 1}, "email more reason"),
    ("post /groups", {"name": "X!", "scopes": ["admin:users:read"], "require_acr": "high"},
     "name require_acr scopes title"),
    ("post /groups", {"name": "staff", "title": CONTROL, "scopes": ["other"], "reason": CONTROL},
     "name reason scopes title"),
    ("post /groups", {"name": "staff", "title": "Staff", "more": 1}, "more name"),
    (f"patch {GROUP}", {"title": "", "scopes": ["other"], "require_acr": "high", "reason": CONTROL},
     "reason require_acr scopes title"),
    (f"patch {GROUP}", {"more": 1, "require_acr": "high"}, "more require_acr"),
    (f"delete {GROUP}", {"more": 1, "reason": CONTROL}, "more reason"),
    ("post /clients", {"type": "server"}, "name redirect_uris"),
    ("post /clients", {"name": CONTROL, "type": "magic", "scope": "a\"b", "reason": CONTROL},
     "name reason scope type"),
    ("post /clients", {"type": "server", "redirect_uris": ["https://a.example/#b"],
                       "post_logout_redirect_uris": ["http://a.example/"], "origins": ["x"],
                       "require_group": "nope", "consent": "maybe", "pkce": "never", "logo": "a",
                       "id_token_lifetime": "soon", "tos_uri": "ftp://a.example/",
                       "default_resource": "https://a.example/", "default_scope": "other"},
     "consent default_resource default_scope id_token_lifetime logo name origins pkce"
     " post_logout_redirect_uris redirect_uris require_group tos_uri"),
    ("post /clients", {"name": "x", "type": "password", "first_party": True, "pkce": "required"},
     "first_party pkce"),
    (f"patch {CLIENT}", {"name": "", "scope": "a\"b", "redirect_uris": [], "reason": CONTROL},
     "name reason redirect_uris scope"),
    (f"patch {CLIENT}", {"more": 1, "id_token_lifetime": "soon", "require_group": "nope"},
     "id_token_lifetime more require_group"),
    (f"patch {CLIENT}", {"scope": 1, "default_scope": "other", "name": ""}, "name scope"),
    (f"delete {CLIENT}", {"name": "Other", "reason": CONTROL}, "name reason"),
    (f"delete {CLIENT}", {"reason": CONTROL}, "name reason"),
    (f"post {CLIENT}/disable", {"more": 1, "reason": CONTROL}, "more reason"),
    ("post /invitations", {"group": "nope"}, "email group"),
    ("post /invitations", {"email": "nonsense", "group": "nope", "reason": CONTROL},
     "email group reason"),
]  # fmt: skip
PAGES = [
    (f"{USER}/profile", {"name": LONG, "username": "bobby77", "phone": "12"},
     "name phone reason username"),
    (f"{USER}/change-email", {"email": BO}, "email reason"),
    (f"{USER}/change-email", {}, "email reason"),
    (f"{USER}/delete", {"email": BO}, "email reason"),
    (f"{USER}/disable", {}, "reason"),
    ("/new-group", {"name": "staff", "scopes": "other"}, "name scopes title"),
    (f"{GROUP}/change", {"scopes": "other", "reason": LONG}, "reason scopes title"),
    (f"{GROUP}/add", {"user": "nobody@example.com", "reason": LONG}, "reason user"),
    (f"{GROUP}/add", {"user": "nobody@example.com", "reason": CONTROL}, "reason user"),
    ("/clients/new", {"type": "server", "scope": "a\"b", "require_group": "nope"},
     "name redirect_uris require_group scope"),
    (f"{CLIENT}/change", {"redirect_uris": "https://a.example/#b", "tos_uri": "ftp://a.example/"},
     "name redirect_uris tos_uri"),
    ("/invitations/new", {"email": "nonsense", "reason": LONG}, "email reason"),
]  # fmt: skip


@pytest.fixture
def filled(site_with):
    """Users, a group and a client, with an owner, who is signed in at pages and API."""
    names = {"login_identifiers": "email username phone", "phone_region": "DE", "limits": "off"}
    site = site_with(**administrators.SETTINGS, **names)
    site.owner = administrators.signed_in(site, "owner")
    site.headers = administrators.token(site, " ".join(sorted(administrators.ADMIN_SCOPES)))
    site.ann = site.user(ANN, confirmed=True)
    site.user(BO, username="bobby77", phone="030 2345678")
    send(site, "post", "/groups", {"name": "staff", "title": "Staff"}, status=201)
    wiki = {"name": "Wiki", "type": "server", "redirect_uris": ["https://wiki.example/callback"]}
    site.wiki = send(site, "post", "/clients", wiki, status=201).json["client_id"]
    return site


def send(site, method, path, body, headers=None, status="*"):
    call = getattr(site.http, f"{method}_json")
    return call(f"/v1/admin{path}", body, headers=headers or site.headers, status=status)


def path_in(site, path):
    return path.format(ann=site.ann, wiki=getattr(site, "wiki", ""))


@pytest.mark.parametrize(("call", "body", "wrong"), API)
def test_the_api_names_all_of_them(filled, call, body, wrong):
    method, path = call.split()
    before = filled.events()
    answer = send(filled, method, path_in(filled, path), body, status=422)
    assert sorted(each["field"] for each in answer.json["errors"]) == wrong.split()
    assert filled.events() == before


@pytest.mark.parametrize(("path", "form", "wrong"), PAGES)
def test_the_page_marks_all_of_them(filled, path, form, wrong):
    path = f"/admin{path_in(filled, path)}"
    token = csrf_of(filled.http.get(path))
    page = filled.http.post(path, {"csrf_token": token, **form}, status=422)
    shown = [each["href"].rpartition("-")[2].strip("#") for each in page.html.select(".summary a")]
    assert sorted(shown) == wrong.split()


def test_a_taken_name_alone_is_a_conflict(filled):
    answer = send(filled, "post", "/groups", {"name": "staff", "title": "Staff"}, status=409)
    assert answer.json["errors"][0]["code"] == "conflict"


def test_a_lifetime_as_a_text_that_the_client_has_is_no_change(filled):
    path = path_in(filled, CLIENT)
    send(filled, "patch", path, {"id_token_lifetime": 600}, status=200)
    before = filled.events()
    send(filled, "patch", path, {"id_token_lifetime": "10m"}, status=200)
    assert filled.events() == before


def bodies(site, prefix):
    """(method, path) of each view with a body, whose path names an object."""
    registry = site.app.registry
    route_of = registry.getUtility(IRoutesMapper).get_route
    for item in registry.introspector.get_category("views"):
        view = item["introspectable"]
        name = view["route_name"] or ""
        model = view.get("body") or view.get("form")
        if name.startswith("authsite.admin.") and model:
            path = route_of(name).pattern
            if path.startswith(prefix) and "{" in path:
                yield view["request_methods"], path


def reached(site, prefix, **values):
    """Each of `bodies`, with the path of one user, group, client, mail or invitation."""
    missing = {"sid": uuid4(), "tid": uuid4(), "fid": uuid4(), "mail": uuid4()}
    for method, path in bodies(site, prefix):
        yield method.lower(), path.format(**{**missing, **values})


def test_whether_the_object_is_there_comes_before_the_body(filled):
    found = list(reached(filled, "/v1/admin", id=uuid4(), name="nothing"))
    assert len(found) > 30
    for method, path in found:
        answer = send(filled, method, path.removeprefix("/v1/admin"), {"more": 1})
        assert answer.status_int == 404, (method, path)
    token = csrf_of(filled.http.get("/admin/new-group"))
    for method, path in reached(filled, "/admin", id=uuid4(), name="nothing"):
        form = {"csrf_token": token, "reason": LONG}
        assert filled.http.post(path, form, status="*").status_int == 404, (method, path)


@pytest.mark.parametrize("role", ["viewer", "support", "security"])
def test_rank_comes_before_the_body(filled, role):
    """Nothing is said of the fields, such as whether an address is that of the account."""
    administrators.make(filled, role, email="low@example.com")
    scope = " ".join(sorted(administrators.ADMIN_SCOPES))
    headers = administrators.token(filled, scope, email="low@example.com")
    for method, path in reached(filled, "/v1/admin/users", id=filled.owner.id):
        body = {"more": 1, "email": BO}
        answer = send(filled, method, path.removeprefix("/v1/admin"), body, headers=headers)
        assert answer.status_int == 403, (method, path)
    filled.http.reset()
    enter(filled, *administrators.STRONG, email="low@example.com")
    form = {"csrf_token": csrf_of(filled.http.get("/account")), "reason": LONG, "email": BO}
    for method, path in reached(filled, "/admin/users", id=filled.owner.id):
        assert filled.http.post(path, form, status="*").status_int == 403, (method, path)


def test_a_client_hears_nothing_of_the_fields_where_it_may_not_act(filled):
    headers = administrators.client(filled, " ".join(sorted(administrators.ADMIN_SCOPES)))
    members = f"/v1/admin/groups/authsite:support/members/{filled.ann.id}"
    values = {"id": filled.owner.id, "name": "authsite:support"}
    refused = [
        *reached(filled, "/v1/admin/users", **values),
        *reached(filled, "/v1/admin/groups/{name}", **values),
        *reached(filled, "/v1/admin/clients", id=filled.wiki),
        ("post", "/v1/admin/clients"),
        ("put", members),
    ]
    for method, path in refused:
        answer = send(filled, method, path.removeprefix("/v1/admin"), {"more": 1}, headers=headers)
        assert answer.status_int == 403, (method, path)


def test_a_client_that_may_not_change_a_group_does_not_hear_of_its_scopes(filled):
    send(filled, "put", f"{GROUP}/members/{filled.owner.id}", {}, status=403)  # one's own groups
    site, kim = filled, administrators.make(filled, "support", email="kim@example.com")
    send(site, "put", f"{GROUP}/members/{kim.id}", {}, status=204)
    headers = administrators.client(site, "admin:groups:write")
    for body in ({"scopes": 1}, {"scopes": ["other"]}, {"require_acr": LONG}):
        send(site, "patch", GROUP, body, headers=headers, status=403)
    send(site, "patch", GROUP, {"title": ""}, headers=headers, status=422)


def test_who_may_not_choose_a_group_does_not_hear_which_there_are(filled):
    headers = administrators.client(filled, "admin:invitations:write")
    for group in ("staff", "nope", LONG):
        body = {"email": "nonsense", "group": group}
        answer = send(filled, "post", "/invitations", body, headers=headers, status=403)
        assert answer.json["errors"][0]["code"] == "insufficient_scope"


def test_who_is_no_administrator_hears_nothing_of_the_fields(filled):
    headers = bearer(filled.login(filled.client())["access_token"])
    for method, path in reached(filled, "/v1/admin", id=filled.ann.id, name="staff"):
        answer = send(filled, method, path.removeprefix("/v1/admin"), {"more": 1}, headers=headers)
        assert answer.status_int == 403, (method, path)


def test_to_ask_for_taken_names_counts_in_a_refused_request_too(site_with):
    """An address or a username that is kept for its former holder cannot be looked for."""
    settings = administrators.SETTINGS | {"limits": "on", "limits.admin-mail": "2/hour"}
    site = site_with(**settings, login_identifiers="email username")
    administrators.make(site, "owner")
    site.headers = administrators.token(site, "admin:users:write")
    path = f"/users/{site.user(ANN, confirmed=True).id}"
    for status in (422, 422, 429):
        send(site, "post", f"{path}/change-email", {"email": BO, "more": 1}, status=status)
    for status in (422, 422, 429):
        send(site, "patch", path, {"username": "bobby77", "more": 1}, status=status)
    send(site, "patch", path, {"name": CONTROL, "more": 1}, status=422)
