"""``authsite audit logins``."""

from collections.abc import Mapping
from typing import Any, cast

import click

from authsite.admin.audit.rows import facts
from authsite.platform.audit.events import Event
from authsite.platform.audit.service import Filter, search
from authsite.platform.command_line.shared import (
    config_option,
    examples,
    json_option,
    limit_option,
    print_json,
    print_more,
    print_table,
    transaction,
)
from authsite.platform.settings import Settings
from authsite.sign_in.failure_reasons import FailureReason

from .options import since_option, user_id_of

# A login on the page, with an application, and each that failed.
LOGINS: tuple[Event, ...] = (Event.SESSION_BEGUN, Event.TOKEN_ISSUED, Event.LOGIN_FAILED)
RESULTS: Mapping[FailureReason, str] = {
    FailureReason.DENIED: "failed: denied",
    FailureReason.DISABLED: "failed: the user is disabled",
    FailureReason.LOCKED: "failed: locked",
    FailureReason.UNCONFIRMED: "failed: not confirmed",
    FailureReason.WRONG_PASSWORD: "failed: wrong password",
}


@click.command(
    epilog=examples(
        "authsite audit logins ann@example.com",
        "authsite audit logins ann@example.com --since 7d --json",
    )
)
@click.argument("user", metavar="EMAIL_OR_ID")
@since_option
@limit_option
@json_option
@config_option
def logins(cfg: Settings, user: str, since: Any, limit: int, as_json: bool) -> None:
    """List the logins of a user.

    Successful and failed ones, on the login page ("page") and with an application (its name), the
    newest first. Of a failed login it says why; the person who tried was not told.
    """
    with transaction(cfg) as ctx:
        user_id = user_id_of(ctx.db, user, "EMAIL_OR_ID")
        wanted = Filter(user_id=user_id, events=LOGINS, since=since)
        found = search(ctx.db, wanted, limit)
        rows = [_login(each) for each in reversed(facts(ctx.db, found.events))]
    if as_json:
        return print_json({"logins": rows, "total": found.total})
    columns = ("at", "result", "with", "address", "device")
    table = [
        (row["at"], _result(row), row["with"], row["address"] or "–", row["device"] or "–")
        for row in rows
    ]
    print_table(columns, table, empty="No login of this user is recorded.")
    print_more(found.total - len(rows))


def _login(row: Mapping[str, Any]) -> dict[str, Any]:
    """An event of `facts` as a login."""
    client = row["client"] or row["client_id"]
    return {
        "at": row["at"],
        "succeeded": row["event"] != Event.LOGIN_FAILED,
        "reason": row["details"].get("reason"),
        "with": client or "page",
        "client_id": row["client_id"],
        "address": row["address"],
        "device": row["device"],
        "request_id": row["request_id"],
    }


def _result(row: Mapping[str, Any]) -> str:
    if row["succeeded"]:
        return "succeeded"
    return RESULTS.get(cast(FailureReason, row["reason"]), "failed")
