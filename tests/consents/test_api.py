"""GET /v1/user/consents, and DELETE of one."""

import pytest

from authsite.oauth.consents import service
from authsite.platform.runtime.clock import rfc3339
from tests.support import connected
from tests.support.site import PASSWORD, bearer

UNKNOWN = "0e37df36-f698-4e8b-9be0-6d2b9a0c1f11"


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


@pytest.fixture
def headers(site, ann):
    return bearer(site.login(site.client())["access_token"])


def listed(site, headers):
    return site.http.get("/v1/user/consents", headers=headers).json


def test_what_was_allowed_is_listed_the_newest_first(site, ann, headers):
    assert listed(site, headers) == []
    wiki, mail = connected.application(site), connected.application(site, "Mail")
    connected.allow(site, ann, wiki, "openid email")
    connected.allow(site, ann, mail, "openid")
    connected.allow(site, site.user("bob@example.com"), wiki, "openid profile")
    connected.note_use(site, ann, wiki)
    with site.db() as db:
        rows = service.list_of(connected.context(site, db), ann.id)
    created = {row.client_id: rfc3339(row.created_at) for row in rows}
    [newest, oldest] = listed(site, headers)
    assert newest == {
        "client_id": str(mail),
        "name": "Mail",
        "scope": "openid",
        "created_at": created[mail],
        "last_used_at": None,
    }
    assert (oldest["client_id"], oldest["scope"]) == (str(wiki), "openid email")
    assert oldest["last_used_at"] >= oldest["created_at"]


def test_removed_access_is_gone_with_its_tokens(site, ann, headers):
    wiki = connected.application(site)
    connected.allow(site, ann, wiki)
    mine = connected.family(site, ann, wiki)
    answer = site.http.delete(f"/v1/user/consents/{wiki}", headers=headers, status=204)
    assert answer.body == b""
    assert listed(site, headers) == []
    assert mine not in connected.unrevoked(site)
    assert len(connected.unrevoked(site)) == 1  # the sign-in that has asked for it
    site.http.delete(f"/v1/user/consents/{wiki}", headers=headers, status=404)


@pytest.mark.parametrize("client_id", [UNKNOWN, "x", "WIKI", "0", "1"])
def test_an_unknown_one_is_404(site, ann, headers, client_id):
    wiki = connected.application(site)
    connected.allow(site, site.user("bob@example.com"), wiki)
    for each in (client_id, wiki):
        answer = site.http.delete(f"/v1/user/consents/{each}", headers=headers, status=404)
        assert "There is no such" not in answer.text, answer.json
    assert len(connected.consents(site)) == 1


def test_it_needs_a_sign_in_of_the_user(site, ann, headers):
    body = {"name": "script", "current_password": PASSWORD}
    made = site.http.post_json("/v1/user/tokens", body, headers=headers, status=201).json
    site.http.get("/v1/user/consents", status=401)
    site.http.get("/v1/user/consents", headers=bearer(made["token"]), status=403)
    site.http.delete(f"/v1/user/consents/{UNKNOWN}", headers=bearer(made["token"]), status=403)
