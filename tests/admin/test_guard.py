"""Who may call the API for administrators: scope, level and age of the sign-in, networks."""

from types import SimpleNamespace

import pytest
from pyramid.exceptions import ConfigurationError

from authsite.admin import guard
from authsite.users.account import PASSWORD
from tests.admin.test_matrix import views
from tests.support import administrators
from tests.support.authorizing import BASE, OPENID, application, code_for, redeemed
from tests.support.site import bearer

ME = "/v1/admin/me"


def test_a_user_has_what_token_and_groups_have_in_common(site):
    user = administrators.make(site, "support")
    headers = administrators.token(site, "admin:users:read admin:clients:write admin:mail:write")
    shown = site.http.get(ME, headers=headers).json
    assert shown["user"]["id"] == str(user.id)
    scopes = "admin:clients:read admin:mail:read admin:mail:write admin:users:read"
    assert shown["scopes"] == scopes.split()  # a viewer may only read clients


def test_a_client_has_its_own_scopes(site):
    headers = administrators.client(site, "admin:users:write")
    shown = site.http.get(ME, headers=headers).json
    assert (shown["user"], shown["scopes"]) == (None, ["admin:users:write"])


def test_no_scope_no_entry(site):
    site.user("root@example.com", confirmed=True)
    headers = administrators.token(site, "admin:users:read")  # of a user in no group
    answer = site.http.get(ME, headers=headers, status=403)
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
    site.http.get(ME, status=401)


def test_a_weak_sign_in_is_asked_for_more(site):
    administrators.make(site, "owner")
    headers = administrators.token(site, "admin:users:read", amr=PASSWORD)
    answer = site.http.get(ME, headers=headers, status=401)
    assert 'acr_values="aal2"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize("path", [ME, "/v1/admin/users"])
def test_a_token_without_the_scopes_that_a_weak_sign_in_leaves_out_is_asked_for_more(site, path):
    """No owner can give what a second factor gives."""
    administrators.make(site, "owner")
    headers = administrators.token(site, "", amr=PASSWORD)
    answer = site.http.get(path, headers=headers, status=401)
    assert 'error="insufficient_user_authentication"' in answer.headers["WWW-Authenticate"]
    assert 'acr_values="aal2"' in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("role", "amr"), [("owner", administrators.STRONG), ("viewer", PASSWORD), (None, PASSWORD)]
)
def test_where_another_sign_in_would_not_help_the_scope_is_named(site, role, amr):
    """The sign-in is strong, the groups of the user do not give it, or there are none."""
    if role:
        administrators.make(site, role)
    else:
        site.user("root@example.com", confirmed=True)
    headers = administrators.token(site, "", amr=amr)
    answer = site.http.get("/v1/admin/settings", headers=headers, status=403)
    assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]


def test_an_application_of_a_third_party_does_not_learn_who_is_an_administrator(site_with):
    site = site_with(**OPENID, **administrators.SETTINGS)
    administrators.make(site, "owner")
    site.user(confirmed=True)
    answers = []
    for username in ("root@example.com", "ann@example.com"):
        site.new_browser()
        app = application(site)
        token = redeemed(site, app, code_for(site, app, username=username))["access_token"]
        answer = site.http.get(f"{BASE}{ME}", headers=bearer(token), status=403)
        answers.append((answer.json, answer.headers["WWW-Authenticate"]))
    assert answers[0] == answers[1]


def test_a_personal_token_has_no_sign_in_that_could_be_stronger(site):
    administrators.make(site, "owner")
    headers = administrators.token(site, "", amr=())
    site.http.get(ME, headers=headers, status=403)


def test_only_inside_of_the_networks(site_with):
    site = site_with(**administrators.SETTINGS, admin_networks="198.51.100.0/24")
    headers = administrators.client(site, "admin:users:read")
    site.http.get(ME, headers=headers, status=404)


def test_outside_of_the_networks_nothing_asks_who_the_caller_is(site_with):
    site = site_with(**administrators.SETTINGS, admin_networks="198.51.100.0/24")
    for method, path, _permission, _is_api in views(site):
        site.http.request(path, method=method, status=404)
    administrators.signed_in(site, "owner")
    site.http.get("/admin", status=404)


def test_inside_of_the_networks_there_is_everything(site_with):
    site = site_with(**administrators.SETTINGS, admin_networks="127.0.0.0/8 198.51.100.0/24")
    site.http.extra_environ["REMOTE_ADDR"] = "127.0.0.1"
    headers = administrators.client(site, "admin:users:read")
    site.http.get(ME, headers=headers, status=200)
    administrators.signed_in(site, "owner")
    site.http.get("/admin", status=200)


def test_without_the_api_there_is_nothing(site_with):
    site = site_with()
    headers = administrators.client(site, "admin:users:read")
    site.http.get(ME, headers=headers, status=404)


@pytest.mark.parametrize("permission", [None, "users:delete", "rockets:read"])
def test_a_view_without_a_permission_stops_the_start(permission):
    options = {"route_name": "authsite.admin.api.new", "admin": permission}
    with pytest.raises(ConfigurationError, match="needs a permission"):
        guard.permission_deriver(print, SimpleNamespace(options=options))
