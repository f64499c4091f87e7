"""Some of the batches in which the group with a tenth of all users is changed and deleted."""

import time
from functools import partial

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from authsite.groups import applying, service
from authsite.groups.applying import BATCH
from authsite.groups.service import GroupValues
from authsite.platform.audit.service import Cause
from authsite.platform.context import Context
from authsite.platform.http.request_info import RequestInfo
from authsite.users.groups.labels import GroupMember

from . import machine
from .administration_data import LARGE

BATCHES = 10  # of each


def measure(place):
    """Change the level of the large group, unbind its scope, and remove members, by batches."""
    services = place.site.app.registry["authsite"]
    with Session(services.database.transactional) as db:
        ctx = Context(services, lambda: RequestInfo(address="192.0.2.1"), lambda: db)
        of_group = GroupMember.group_name == LARGE
        with db.begin():
            members = db.scalar(select(func.count()).select_from(GroupMember).where(of_group))
        print(f"{members:,} members: {-(-members // BATCH):,} batches of {BATCH}\n")
        print("| what | ms of a batch | of PostgreSQL | seconds of all |")
        print("|---|---|---|---|", flush=True)
        for name, values in (
            ("require_acr", GroupValues(require_acr="aal2")),
            ("unbind the scope", GroupValues(scopes="")),
        ):
            with db.begin():
                change = service.change(ctx, LARGE, values, Cause("command"))
            _report(place, db, name, partial(applying.step, ctx, change), members)
        with db.begin():
            change = service.delete(ctx, LARGE, Cause("command"))
        _report(place, db, "delete", partial(applying.step, ctx, change), members)


def _report(place, db, name, step, members):
    pids = place.backends()
    own, other = time.thread_time(), machine.running(pids)
    for _ in range(BATCHES):
        with db.begin():
            step()
    own, other = time.thread_time() - own, machine.running(pids) - other
    each = (own + other) / BATCHES
    whole = each * members / BATCH
    print(
        f"| {name} | {1000 * each:.0f} | {1000 * other / BATCHES:.0f} | {whole:.0f} |", flush=True
    )
