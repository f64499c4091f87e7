"""Every view of console and API, for every reserved group: made from the table of routes."""

import re
import uuid

import pytest

from authsite.users.groups.labels import RESERVED
from tests.support import administrators
from tests.support.pages import csrf_of

ROLES = {name.removeprefix("authsite:"): group.scopes for name, group in RESERVED.items()}
BODIES = ("POST", "PUT", "PATCH", "DELETE")


def views(site):
    """``(method, path, permission, is_api)`` of every view, with ids that nothing has."""
    found = site.app.registry.introspector
    routes = {
        item["introspectable"]["name"]: item["introspectable"]["pattern"]
        for item in found.get_category("routes")
    }
    for item in found.get_category("views"):
        view = item["introspectable"]
        name = view["route_name"] or ""
        if name.startswith("authsite.admin."):
            path = re.sub(r"\{[^}]*\}", lambda _: str(uuid.uuid4()), routes[name])
            methods = view["request_methods"]
            for method in [methods] if isinstance(methods, str) else methods:
                if method != "HEAD":
                    yield method, path, view["admin"], ".api." in name


def may(scopes, permission):
    """Whether the scopes have the permission; ``write`` includes ``read``."""
    if permission == "any":
        return bool(scopes)
    wanted = {permission, permission.replace(":read", ":write")}
    return bool({f"admin:{each}" for each in wanted} & set(scopes))


def refused(answer):
    """Whether the answer is that a permission is missing."""
    challenge = answer.headers.get("WWW-Authenticate", "")
    return answer.status_int == 403 and 'error="insufficient_scope"' in challenge


@pytest.mark.parametrize("role", ROLES)
def test_the_api_is_open_to_whom_its_permission_names(site, role):
    administrators.make(site, role)
    headers = administrators.token(site, " ".join(ROLES[role]))
    seen = 0
    for method, path, permission, is_api in views(site):
        if is_api:
            answer = site.http.request(path, method=method, headers=headers, status="*")
            assert refused(answer) is not may(ROLES[role], permission), (method, path, answer)
            assert answer.status_int < 500, (method, path)
            seen += 1
    assert seen > 40


@pytest.mark.parametrize("role", ROLES)
def test_the_console_is_open_to_whom_its_permission_names(site, role):
    administrators.signed_in(site, role)
    csrf = csrf_of(site.http.get("/account"))
    seen = 0
    for method, path, permission, is_api in views(site):
        if not is_api:
            form = {"csrf_token": csrf} if method in BODIES else {}
            answer = site.http.request(path, method=method, POST=form or None, status="*")
            assert refused(answer) is not may(ROLES[role], permission), (method, path, answer)
            assert answer.status_int < 500, (method, path)
            seen += 1
    assert seen > 20


def test_nothing_is_open_to_others(site):
    site.user("root@example.com", confirmed=True)
    headers = administrators.token(site, "admin:users:read")
    for method, path, _permission, is_api in views(site):
        if is_api:
            answer = site.http.request(path, method=method, headers=headers, status="*")
            assert refused(answer), (method, path, answer)
            answer = site.http.request(path, method=method, status="*")
            assert answer.status_int == 401, (method, path, answer)
        else:
            answer = site.http.request(path, method=method, status="*")
            assert answer.status_int in (302, 303, 401, 403), (method, path, answer)
            assert "admin" not in answer.headers.get("Location", "/login").partition("?")[0]
