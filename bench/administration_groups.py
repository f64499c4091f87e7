"""What it takes to change and to delete the group with a tenth of all users."""

import time

from sqlalchemy import text

from . import machine
from .administration_data import LARGE

WATCHED = 60  # seconds


def measure(place):
    """Change the level of the large group, unbind its scope, and delete it, by the API."""
    print("| what | s | processor s | status | of the members after it |")
    print("|---|---|---|---|---|", flush=True)
    for name, method, body in (
        ("another title", "PATCH", {"title": "All"}),
        ("require_acr", "PATCH", {"require_acr": "aal2"}),
        ("unbind the scope", "PATCH", {"scopes": []}),
        ("delete", "DELETE", {}),
    ):
        place.signed_in = 0
        place.sign_in()
        began, ran = time.perf_counter(), time.thread_time() + machine.running(place.backends())
        pids = place.backends()
        ran = time.thread_time() + machine.running(pids)
        answer = place.site.http.request(
            f"/v1/admin/groups/{LARGE}", method=method, headers=place.headers, status="*",
            **({"json": body} if False else {"body": _json(body), "content_type": "application/json"}),
        )
        took = time.perf_counter() - began
        ran = time.thread_time() + machine.running(pids) - ran
        print(f"| {name} | {took:.1f} | {ran:.1f} | {answer.status_int} | {_left(place)} |", flush=True)


def _left(place):
    query = (
        "SELECT count(*) FROM group_members WHERE group_name = :it",
        "SELECT count(*) FROM users WHERE labels = :it || '=aal2'",
        "SELECT count(*) FROM families WHERE scope LIKE '%bench:read%' AND revoked_at IS NULL",
    )
    with place.site.database.autocommit.connect() as connection:
        connection.execute(text("SET statement_timeout = 0"))
        found = [connection.scalar(text(each), {"it": LARGE} if ":it" in each else {}) for each in query]
        connection.invalidate()
    return "{:,} members, {:,} labels with the level, {:,} sign-ins with the scope".format(*found)


def _json(body):
    import json

    return json.dumps(body).encode()
