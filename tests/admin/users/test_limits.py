"""The limits that count for a user, in whatever storage they are."""

import pytest

from tests.conftest import need
from tests.support import administrators, redis
from tests.support.in_process import Commands

from .calls import ALL, WHY, events, path

PASSWORDS = {"limits": "on", "limits_login_account": "3/5 minutes"}


@pytest.fixture(params=["database", "redis"])
def storage(request, tmp_path):
    """The setting `limits-storage`."""
    if request.param == "database":
        yield "database"
        return
    need(redis.available(), "redis-server")
    with redis.serving(tmp_path) as server:
        yield server.url


def test_they_are_shown_and_lifted_by_api_and_command(site_with, storage, tmp_path):
    site = site_with(**administrators.SETTINGS, **PASSWORDS, limits_storage=storage)
    administrators.make(site, "security")
    headers = administrators.token(site, ALL)
    ann, bo = (site.user(each, confirmed=True) for each in ("ann@example.com", "bo@example.com"))
    keys, address = site.client(), "203.0.113.7"
    for user in (ann, bo):
        for _ in range(3):
            site.try_login(keys, username=user.email, address=address)

    def locked(user):
        answer = site.try_login(keys, "correct horse battery", username=user.email, address=address)
        return answer.status_int == 429

    assert locked(ann)
    assert locked(bo)
    rows = site.http.get(path(ann, "/limits"), headers=headers).json["data"]
    mine = {row["limit"]: row for row in rows if row["limit"] == "login-account"}
    assert mine["login-account"]["count"] >= 1
    assert 0 < max(row["seconds"] for row in rows if row["limit"] == "login-account") <= 24 * 3600
    commands = Commands(site, tmp_path, **PASSWORDS, limits_storage=storage)
    listed = commands.json("user", "limits", "ann@example.com")["limits"]
    assert [(row["limit"], row["count"]) for row in listed] == [
        (row["limit"], row["count"]) for row in rows
    ]
    site.http.delete_json(path(ann, "/limits"), WHY, headers=headers, status=204)
    assert site.http.get(path(ann, "/limits"), headers=headers).json["data"] == []
    assert commands.json("user", "limits", "ann@example.com")["limits"] == []
    assert not locked(ann)
    assert locked(bo)
    [details] = events(site, ann, "limit.lifted")
    assert int(details["lifted"]) == len(rows)
