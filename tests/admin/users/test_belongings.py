"""What belongs to a user: sign-ins, tokens, factors, limits, mails, events, the export."""

from tests.support import administrators, factors
from tests.support.site import PASSWORD

from .calls import ALL, WHY, act, events, path


def test_sign_ins_and_tokens_are_listed_and_ended(site, root, ann):
    keys = site.client()
    first = site.login(keys, "ann@example.com", PASSWORD)["access_token"]
    second = site.login(keys, "ann@example.com", PASSWORD)["access_token"]
    bearer = {"Authorization": f"Bearer {first}"}
    made = [
        site.http.post_json(
            "/v1/user/tokens", {"name": name, "current_password": PASSWORD}, headers=bearer
        ).json
        for name in ("one", "two", "three")
    ]
    site.mails()
    listed = site.http.get(path(ann, "/tokens"), headers=root).json["data"]
    assert {each["name"] for each in listed} == {"one", "two", "three"}
    site.http.delete(path(ann, f"/tokens/{made[0]['id']}"), headers=root, status=204)
    site.http.delete(path(ann, f"/tokens/{made[0]['id']}"), headers=root, status=404)
    site.http.delete(path(ann, "/tokens"), headers=root, status=204)
    assert site.http.get(path(ann, "/tokens"), headers=root).json["data"] == []
    assert len(site.mails()) == 2
    sessions = site.http.get(path(ann, "/sessions"), headers=root).json
    assert (len(sessions["data"]), sessions["next"]) == (2, None)
    site.http.delete(path(ann, f"/sessions/{sessions['data'][0]['id']}"), headers=root, status=204)
    assert site.mails() == []
    assert len(site.http.get(path(ann, "/sessions"), headers=root).json["data"]) == 1
    site.http.delete(path(ann, "/sessions"), headers=root, status=204)
    site.me(first, status=401)
    site.me(second, status=401)
    site.http.delete(path(ann, "/sessions/x"), headers=root, status=404)
    assert all("actor" in each for each in events(site, ann, "token.revoked"))


def test_factors_are_listed_without_secrets_and_removed(site, root, ann):
    factors.add_totp(site, ann)
    factors.add_passkey(site, ann)
    site.mails()
    listed = site.http.get(path(ann, "/factors"), headers=root).json["data"]
    assert [each["kind"] for each in listed] == ["totp", "passkey"]
    assert site.http.get(path(ann), headers=root).json["second_factor"] is True
    site.http.delete(path(ann, f"/factors/{listed[0]['id']}"), headers=root, status=204)
    assert factors.left(site, ann) == {"totp": 0, "passkeys": 1, "codes": 8}
    assert site.http.get(path(ann), headers=root).json["second_factor"] is False
    assert len(site.mails()) == 1
    site.http.delete(path(ann, "/factors"), headers=root, status=422)  # why?
    act(site, root, ann, "reset-factors")
    assert factors.left(site, ann) == {"totp": 0, "passkeys": 0, "codes": 0}
    viewer = administrators.make(site, "viewer", "viewer@example.com")
    assert act(site, root, viewer, "reset-factors", status=403)["errors"][0]["code"] == "outranked"


def test_limits_are_shown_and_lifted(site_with):
    site = site_with(**administrators.SETTINGS, limits="on")
    administrators.make(site, "support")
    headers = administrators.token(site, ALL)
    ann, keys = site.user("ann@example.com", confirmed=True), site.client()
    for _ in range(6):
        site.try_login(keys, username="ann@example.com", password="wrong horse battery")
    assert site.try_login(keys, username="ann@example.com").status_int == 429
    shown = site.http.get(path(ann, "/limits"), headers=headers).json["data"]
    assert "login-account" in {each["limit"] for each in shown}
    assert all(each["seconds"] > 0 for each in shown)
    site.http.delete_json(path(ann, "/limits"), WHY, headers=headers, status=204)
    site.http.delete_json(path(ann, "/limits"), WHY, headers=headers, status=204)
    assert len(events(site, ann, "limit.lifted")) == 1
    site.login(keys, "ann@example.com", PASSWORD)


def test_mails_and_events_of_a_user(site, root, ann):
    act(site, root, ann, "reset-password", {}, 202)
    act(site, root, ann, "sign-out", {})
    first = site.http.get(path(ann, "/mails?limit=1"), headers=root).json
    rest = site.http.get(path(ann, f"/mails?cursor={first['next']}"), headers=root).json
    assert [each["letter"] for each in (*first["data"], *rest["data"])] == [
        "sign_ins_ended", "reset"
    ]  # fmt: skip
    found = site.http.get(path(ann, "/events"), headers=root).json["data"]
    assert [each["event"] for each in found[:2]] == ["user.signed_out", "recovery.requested"]


def test_the_data_of_a_user_are_exported_with_an_event(site, root, ann):
    data = site.http.get(path(ann, "/export"), headers=root).json
    assert data["user"]["email"] == "ann@example.com"
    assert events(site, ann, "user.exported")[0]["by"] == "administrator"
