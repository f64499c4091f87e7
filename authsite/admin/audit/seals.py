"""Whether the seals of the audit trail hold: computed now, or what was found the last time."""

from datetime import timedelta
from typing import Any

from authsite.platform.audit.seals.keys import audit_keys
from authsite.platform.audit.seals.table import newest_seal
from authsite.platform.audit.seals.verification import (
    as_json,
    count_up_to,
    last_result,
    verify,
)
from authsite.platform.context import Context, Services
from authsite.platform.db.autocommit import snapshot_on
from authsite.platform.registrations import Registered
from authsite.platform.runtime import clock
from authsite.platform.runtime.cached import Cached

from .service import WALK

CACHED = timedelta(seconds=60)
AT_ONCE = 1_000
"""How many events are verified in every request; `WALK` of them take about a second."""
STATES = Registered[Cached[dict[str, Any]]]("states of the seals")
AGAIN = "`authsite audit verify` says which events, and why"


def shown(ctx: Context) -> dict[str, Any]:
    """`state_of_seals`, at most a minute old."""
    return STATES.of(ctx.services)["seals"].get()


def current(ctx: Context) -> dict[str, Any]:
    """`state_of_seals`: of a trail of up to `AT_ONCE` events now, else at most a minute old."""
    with ctx.database.autocommit.connect() as connection:
        is_short = count_up_to(connection, AT_ONCE + 1) <= AT_ONCE
    return state_of_seals(ctx.services) if is_short else shown(ctx)


def state_of_seals(services: Services) -> dict[str, Any]:
    """What ``authsite audit verify --json`` prints, and when that was found (``verified_at``).

    A short trail is verified now. Of a longer one this is the result of the last ``authsite audit
    verify``; before the first all numbers are null.
    """
    keys = audit_keys(services.settings)
    with services.database.autocommit.connect() as connection:
        if count_up_to(connection, WALK + 1) <= WALK:
            with snapshot_on(connection):
                summary, problems = verify(connection, keys)
            return {"verified_at": clock.rfc3339(clock.now()), **as_json(summary, problems)}
        newest, found = newest_seal(connection, keys), last_result(connection, keys)
    shown = newest and {"seal": newest.id, "mac": newest.mac}
    if found is None:
        numbers = dict.fromkeys(("verified_at", "ok", "seals", "events", "unsealed"))
        return {**numbers, "newest_seal": shown, "problems": []}
    problem = {"seal": None, "first_id": None, "last_id": None, "until": None}
    return {
        "verified_at": clock.rfc3339(found.at),
        "ok": found.ok,
        "seals": found.seals,
        "events": found.events,
        "unsealed": found.unsealed,
        "newest_seal": shown,
        "problems": [{**problem, "text": f"{found.problems} problems: {AGAIN}"}]
        if found.problems
        else [],
    }
