"""Check the users of a source by the rules of registration, and write them in batches."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Table, insert, select

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.i18n import translate
from authsite.platform.passwords import imports
from authsite.platform.runtime import clock
from authsite.platform.runtime.ids import as_id
from authsite.platform.settings import Settings, revealed
from authsite.sign_in.fields import read_identifiers, read_line
from authsite.sign_in.identifiers import Identifier
from authsite.users.models import LoginName, User
from authsite.users.service import find_reserved

from .before import USERS, Before, user_key
from .report import PRESENT, Outcome, refused
from .rows import FactorDraft, Fault, Row, UserDraft, new_id, require_storable, size

MAX_SOURCE_ID = 255  # characters

_USERS, _LOGIN_NAMES = cast(Table, User.__table__), cast(Table, LoginName.__table__)

_RESERVED_BY = {
    "email": "a change of address reserves it",
    "username": "it was given up or erased less than 180 days ago",
}

ReadDraft: TypeAlias = Callable[[Mapping[str, object]], UserDraft]


class Rules(NamedTuple):
    """How the users of one import are taken.

    ``system``: whose ids the rows have, see `new_id`. ``confirmed``: every address counts as
    confirmed of which the source does not say the contrary. ``without_password``: users whose hash
    cannot be verified are taken without one. ``before``: the rows of the run so far; None for a
    batch that is the whole run.
    """

    cfg: Settings
    system: str
    read_draft: ReadDraft
    confirmed: bool = False
    without_password: bool = False
    before: Before | None = None


class Checked(NamedTuple):
    """A user that fulfills our rules; whether the login names are free is still to be seen."""

    row: Row
    draft: UserDraft
    values: dict[str, Any]
    names: list[Identifier]

    @property
    def id(self) -> uuid.UUID:
        """The id of the user."""
        return cast(uuid.UUID, self.values["id"])


class Reserved(Exception):
    """A login name has been reserved since it was looked up: try the batch again."""


def write(ctx: Context, rules: Rules, rows: Sequence[Row]) -> list[Outcome]:
    """Write the users of ``rows`` in the transaction of ``ctx``; what became of every row.

    Raises `IntegrityError` or `Reserved` if another process has taken a login name; the
    transaction is then to be rolled back, and may be tried again.
    """
    outcomes: list[Outcome] = []
    checked: list[Checked] = []
    before = rules.before or Before()
    key = user_key(rules.system)
    for row, draft in before.drafts(USERS, rows, rules.read_draft, outcomes, key=key):
        try:
            checked.append(_check(rules, row, draft))
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, draft.source_id, error))
    free = _free(ctx, before, checked, outcomes)
    if before.seen:
        before.seen.add({name.key: each.id for each in free for name in each.names})
    elif free:
        _insert(ctx, rules, free)
    outcomes += [
        Outcome(each.row.number, each.draft.source_id, each.id, "imported") for each in free
    ]
    return sorted(outcomes, key=lambda outcome: outcome.row)


def _check(rules: Rules, row: Row, draft: UserDraft) -> Checked:
    """The user of a draft. Raises `Fault` for the first rule that is not fulfilled."""
    if len(draft.source_id) > MAX_SOURCE_ID or not draft.source_id.isprintable():
        raise Fault("id", f"has control characters or more than {MAX_SOURCE_ID} characters")
    if not draft.login_names.get("email"):
        raise Fault("email", "is missing")
    names, errors = read_identifiers(rules.cfg, draft.login_names)
    name, wrong = read_line("name", draft.name)
    errors += wrong
    for error in errors:
        raise Fault(error.field, translate(error.message))
    now = clock.now()
    displays = {item.kind: item.display for item in names}
    created = draft.created_at or now
    confirmed = rules.confirmed if draft.confirmed is None else draft.confirmed
    factors = draft.factors or FactorDraft(None, None, passkey_after_password=False)
    values = {
        "id": new_id(rules.system, draft.source_id),
        "email": displays["email"],
        "username": displays.get("username"),
        "phone": displays.get("phone"),
        "name": name,
        "password_hash": _password_hash(rules, draft.password),
        "epoch": 0,
        "recovery_version": 0,
        "email_verified_at": draft.confirmed_at or (created if confirmed else None),
        "disabled_at": (draft.disabled_at or draft.updated_at or now) if draft.disabled else None,
        "delete_at": draft.delete_at if draft.disabled else None,
        "terms_url": draft.terms[0],
        "terms_accepted_at": draft.terms[1],
        "language": draft.language,
        "origin": "imported",
        "second_factor_at": factors.second_factor_at,
        "factors_since": factors.factors_since,
        "passkey_after_password": factors.passkey_after_password,
        "last_sign_in_at": draft.last_sign_in_at,
        "created_at": created,
        "updated_at": draft.updated_at or created,
    }
    require_storable(_USERS, values)
    return Checked(row, draft, values, names)


def _password_hash(rules: Rules, stored: str | None) -> str | None:
    try:
        known = revealed((*rules.cfg.password_pepper, *rules.cfg.password_pepper_next))
        hashed = imports.stored_form(stored, rules.cfg.bcrypt_cost, known) if stored else None
        if len(hashed or "") > (longest := size(_USERS.c.password_hash)):
            raise imports.UnsupportedHash(f"has more than {longest} characters")
        return hashed
    except imports.UnsupportedHash as error:
        if rules.without_password:
            return None
        raise Fault("password", str(error)) from None


def _free(
    ctx: Context, before: Before, checked: Sequence[Checked], outcomes: list[Outcome]
) -> list[Checked]:
    """The users that can be inserted; the outcomes of the others are added to ``outcomes``."""
    ids = [each.id for each in checked]
    found = ctx.db.execute(select(User.id, User.created_at).where(User.id.in_(ids)))
    present: dict[uuid.UUID, datetime] = {row.id: row.created_at for row in found}
    logins = [name for each in checked for name in each.names]
    owners: dict[str, uuid.UUID | None] = dict.fromkeys(find_reserved(ctx.settings, ctx.db, logins))
    keys = [name.key for name in logins]
    names = select(LoginName.key, LoginName.user_id).where(LoginName.key.in_(keys))
    owners |= {row.key: row.user_id for row in ctx.db.execute(names)}
    if before.seen:
        owners |= before.seen.names(keys)
    free: list[Checked] = []
    for each in checked:
        number, source_id, created_at = each.row.number, each.draft.source_id, each.draft.created_at
        # An id that was computed from the source's is that of no user but one of an import.
        unsure = created_at is None and as_id(source_id.lower()) is None
        if each.id in present and (unsure or created_at == present[each.id]):
            outcomes.append(
                Outcome(number, source_id, each.id, "present", None, PRESENT, unsure=unsure)
            )
            continue
        try:
            _require_free(each, present, owners)
        except Fault as fault:
            outcomes.append(refused(each.row, source_id, fault))
            continue
        free.append(each)
        owners |= {name.key: each.id for name in each.names}
    return free


def _require_free(
    each: Checked, present: Mapping[uuid.UUID, datetime], owners: Mapping[str, uuid.UUID | None]
) -> None:
    """Raise `Fault` if another user has the id or a login name."""
    if each.id in present and each.draft.created_at is None:
        raise Fault(
            "id",
            "a user with this id is here, and the row does not say when its user was created:"
            f" {each.id}",
        )
    if each.id in present:
        raise Fault(
            "id",
            f"a user with this id was created at another time: {each.id}. Give --system NAME if"
            " this is another system than that of an earlier import",
        )
    for name in each.names:
        if name.key in owners:
            owner = owners[name.key]
            holder = f"the user {owner} has it" if owner else _RESERVED_BY[name.kind]
            raise Fault(name.kind, f"is taken: {holder}")


def _insert(ctx: Context, rules: Rules, users: Sequence[Checked]) -> None:
    names = [
        {"key": name.key, "kind": name.kind, "user_id": each.id}
        for each in users
        for name in each.names
    ]
    ctx.db.execute(insert(_USERS), [each.values for each in users])
    ctx.db.execute(insert(_LOGIN_NAMES), names)
    if find_reserved(ctx.settings, ctx.db, [name for each in users for name in each.names]):
        raise Reserved
    causes: list[About] = [
        {"user_id": each.id, "details": _details(rules.system, each.draft.source_id)}
        for each in users
    ]
    record_all(ctx, Event.USER_CREATED, causes)


def _details(system: str, source_id: str) -> dict[str, str]:
    """Of the audit event; without an id that is an e-mail address, which the trail never has."""
    return {"source": system} | ({} if "@" in source_id else {"source_id": source_id})
