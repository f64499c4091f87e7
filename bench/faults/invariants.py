"""What must hold after each run, whatever was broken (I1 to I7 of docs/reliability.md)."""

import re
import time

import httpx

from .rows import Row
from .traffic import PASSWORD

# Each reset request that was answered 202 has its audit row and its mail, in one transaction.
COUNTS = """
SELECT (SELECT count(*) FROM families)
     , (SELECT count(*) FROM audit_events WHERE event = 'token.issued')
     , (SELECT count(*) FROM audit_events WHERE event = 'recovery.requested')
     , (SELECT count(*) FROM outbox WHERE letter = 'reset')
     , (SELECT count(*) FROM families WHERE revoked_at IS NOT NULL)
     , (SELECT count(*) FROM audit_events WHERE event IN ('token.revoked', 'token.reused'))
"""


def check(run, made, traffic, mail_seconds=60):
    """One row: all invariants that hold are named once, each that does not with what was found.

    ``mail_seconds``: how long mails may wait in the outbox after the run.
    """
    broken = list(_broken(made, traffic, mail_seconds))
    checked = "I1, I2, I3, I4, I5, I6, I7"
    figure = "; ".join(broken) if broken else f"{checked} hold"
    return Row(run, "after the run", "all invariants hold", figure, not broken)


def _broken(made, traffic, mail_seconds):
    yield from _tokens(made, traffic)
    families, issued, asked, mails, revoked, ended = _counts(made)
    if families != issued:
        yield f"I5: {families} token families, {issued} audit rows"
    if revoked != ended:
        yield f"I5: {revoked} revoked families, {ended} audit rows"
    answered = sum(a.kind == "forgot" and a.status == 202 for a in traffic.answers)
    if not asked == mails >= answered:
        yield f"I3: {answered} answers of 202, {asked} audit rows, {mails} mails"
    if left := _unsent(made, mail_seconds):
        yield f"I4: {left} mails neither sent nor ended after {mail_seconds} s"
    log = made.log()
    if found := re.findall(r"internal_error|Traceback|\b500\b(?= +\d+\.?\d* ?ms)", log):
        yield f"I6: {len(found)} internal errors in the log"
    statuses = [a for a in traffic.answers if a.status == 500]
    if statuses:
        yield f"I6: {len(statuses)} answers of 500"
    secrets = [PASSWORD, made.client["client_secret"], *traffic.made, *traffic.ended]
    secrets += [token for each in traffic.sessions for token in (each.access, each.refresh)]
    if any(secret in log for secret in secrets):
        yield "I7: a secret in the log"


def _tokens(made, traffic):
    """I1, and I2: a family is one row with one generation, so only its newest token is valid."""
    tokens = [*traffic.made, *(each.access for each in traffic.sessions)]
    with httpx.Client(base_url=made.server.base_url, timeout=30) as client:

        def status(token):
            header = {"Authorization": f"Bearer {token}"}
            return client.get("/v1/user", headers=header).status_code

        statuses = [status(token) for token in tokens]
        valid = [token for token in traffic.ended if status(token) != 401]
    if valid:
        yield f"I1: {len(valid)} of {len(traffic.ended)} revoked tokens are valid"
    if wrong := [status for status in statuses if status != 200]:
        yield f"I1: {len(wrong)} of {len(tokens)} tokens of good answers: {sorted(set(wrong))}"
    if rejected := [answer for each in traffic.sessions for answer in each.rejected]:
        yield f"I1: {len(rejected)} refreshes with a valid token were rejected"


def _counts(made):
    with made.postgres.connect() as connection:
        return connection.execute(COUNTS).fetchone()


def _unsent(made, seconds):
    """How many mails of the outbox still wait when all had ``seconds`` to end."""
    deadline = time.monotonic() + seconds
    with made.postgres.connect() as connection:
        while True:
            query = "SELECT count(*) FROM outbox WHERE state = 'waiting'"
            [waiting] = connection.execute(query).fetchone()
            if not waiting or time.monotonic() > deadline:
                return waiting
            time.sleep(0.2)
