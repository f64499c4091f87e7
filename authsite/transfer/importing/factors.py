"""Write authenticator apps, passkeys and recovery codes after their users.

A user with another factor of the same kind keeps that one: an import never replaces a factor.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Table, func, insert, select, update

from authsite.platform.audit.events import Event
from authsite.platform.audit.service import About, record_all
from authsite.platform.context import Context
from authsite.platform.crypto.sealing import Binding
from authsite.platform.runtime import clock
from authsite.platform.runtime.lines import as_one_line
from authsite.sign_in.factors import notices
from authsite.sign_in.methods.passkeys.stored import Passkey, name_of
from authsite.sign_in.methods.recovery_codes.service import PURPOSE, RecoveryCode
from authsite.sign_in.methods.totp.models import SECRET, TotpFactor
from authsite.users.account import account_of
from authsite.users.models import User

from .before import Before, Owner
from .report import PRESENT, Outcome, refused
from .rows import CodeDraft, Fault, PasskeyDraft, Row, TotpDraft, new_id, require_storable

Draft: TypeAlias = TotpDraft | PasskeyDraft | CodeDraft
ReadFactor: TypeAlias = Callable[[Mapping[str, object]], Draft]

MIN_SECRET = 10  # bytes; RFC 4226 asks for 16, and some apps have shorter ones
ALGORITHMS = ("SHA1", "SHA256", "SHA512")


class Rules(NamedTuple):
    """How the factors of one import are taken; ``system``: whose ids the rows have.

    ``part``: the name of the table of the rows. ``after_password``: the source asks for a passkey
    after the password, so that we do.
    """

    system: str
    part: str
    read_draft: ReadFactor
    after_password: bool = False


def write(ctx: Context, before: Before, rules: Rules, rows: Sequence[Row]) -> list[Outcome]:
    """Write the factors of ``rows`` in the transaction of ``ctx``; what became of every row.

    Raises `IntegrityError` if another process has added one at the same time.
    """
    outcomes: list[Outcome] = []
    drafts = before.drafts(rules.part, rows, rules.read_draft, outcomes)
    users = before.users(ctx, rules.system, [draft.user_id for _row, draft in drafts])
    # With the kind: the numbers of the rows begin at 1 in each table.
    ids = [new_id(f"{rules.system} {type(each).__name__}", each.source_id) for _row, each in drafts]
    taken = _Taken(ctx, users.owners.values(), ids, [draft for _row, draft in drafts])
    new: list[_New] = []
    for id_, (row, draft) in zip(ids, drafts, strict=True):
        try:
            owner = users.owner(draft.user_id)
            values = _values(ctx, id_, owner, draft)
            present = taken.check(draft, values)
        except (Fault, ValueError) as error:
            outcomes.append(refused(row, draft.source_id, error))
            continue
        if present:
            outcomes.append(Outcome(row.number, draft.source_id, id_, "present", None, PRESENT))
            continue
        new.append(_New(draft, values, owner))
        outcomes.append(Outcome(row.number, draft.source_id, id_, "imported"))
    if new and before.seen is None:
        _insert(ctx, rules, new)
        _tell(ctx, new)
    return sorted(outcomes, key=lambda outcome: outcome.row)


class _New(NamedTuple):
    """A factor to write: the draft, its row, and whose it is."""

    draft: Draft
    values: Mapping[str, Any]
    owner: Owner


class _Taken:
    """What the database, or an earlier row, has: apps of users, passkeys by credential, ids."""

    def __init__(
        self,
        ctx: Context,
        owners: Iterable[Owner],
        ids: Sequence[uuid.UUID],
        drafts: Sequence[Draft],
    ) -> None:
        users = [owner.id for owner in owners]
        self._ids: set[uuid.UUID] = set()
        for model in (TotpFactor, Passkey, RecoveryCode):
            self._ids |= set(ctx.db.scalars(select(model.id).where(model.id.in_(ids))))
        apps = select(TotpFactor.user_id, TotpFactor.id).where(TotpFactor.user_id.in_(users))
        self._apps = {row.user_id: row.id for row in ctx.db.execute(apps)}
        names = [each.credential_id for each in drafts if isinstance(each, PasskeyDraft)]
        keys = select(Passkey.credential_id, Passkey.user_id).where(
            Passkey.credential_id.in_(names)
        )
        self._keys = {row.credential_id: row.user_id for row in ctx.db.execute(keys)}
        macs = [each.mac for each in drafts if isinstance(each, CodeDraft)]
        codes = select(RecoveryCode.mac, RecoveryCode.user_id).where(RecoveryCode.mac.in_(macs))
        self._codes = {(row.mac, row.user_id) for row in ctx.db.execute(codes)}

    def check(self, draft: Draft, values: Mapping[str, Any]) -> bool:
        """Whether an earlier import has written the row; notes it. Raises `Fault`."""
        present = self._is_present(draft, values)
        if not present and values["id"] in self._ids:
            raise Fault("id", f"another factor has this id: {draft.source_id}")
        return present

    def _is_present(self, draft: Draft, values: Mapping[str, Any]) -> bool:
        user_id = values["user_id"]
        if isinstance(draft, TotpDraft):
            owner = self._apps.setdefault(user_id, None)
            self._apps[user_id] = owner or values["id"]
            if owner and owner != values["id"]:
                raise Fault("user_id", "the user has another authenticator app")
            return owner is not None
        if isinstance(draft, PasskeyDraft):
            owner = self._keys.get(draft.credential_id)
            if owner not in (None, user_id):
                raise Fault("credential_id", "another user has this passkey")
            self._keys[draft.credential_id] = user_id
            return owner is not None
        present = (draft.mac, user_id) in self._codes
        self._codes.add((draft.mac, user_id))
        return present


def _values(ctx: Context, id_: uuid.UUID, owner: Owner, draft: Draft) -> dict[str, Any]:
    """The row of a draft. Raises `Fault`.

    What comes to an account that was here is new here, whatever its age in the source: a recovery
    and the link of the notice remove what is new.
    """
    values = draft._asdict()
    del values["source_id"]
    created = None if owner.was_here else draft.created_at
    values |= {"id": id_, "user_id": owner.id, "created_at": created or clock.now()}
    if isinstance(draft, TotpDraft):
        if len(draft.secret) < MIN_SECRET:
            raise Fault("secret", f"has fewer than {MIN_SECRET} bytes")
        if draft.digits not in (6, 7, 8) or not 10 <= draft.period <= 300:
            raise Fault("digits", "or period is none that an authenticator app has")
        if draft.algorithm not in ALGORITHMS:
            raise Fault("algorithm", f"is none of {', '.join(ALGORITHMS)}")
        binding = Binding(SECRET, id_, user=owner.id)
        values["secret"] = ctx.services.sealing.seal(draft.secret, binding)
    elif isinstance(draft, PasskeyDraft):
        values["name"] = as_one_line(draft.name) or name_of(draft.aaguid, None)
        require_storable(cast(Table, Passkey.__table__), values)
    else:
        known = {each.partition(".")[0] for each in ctx.services.sealing.macs(PURPOSE, b"")}
        if draft.mac.partition(".")[0] not in known:
            raise Fault(
                "mac", "was made with another sealing key, so the code would not be recognized"
            )
        require_storable(cast(Table, RecoveryCode.__table__), values)
    return values


def _tell(ctx: Context, new: Sequence[_New]) -> None:
    """Mail those whose account could be signed in to before: it has one more way in."""
    here = {each.owner.id for each in new if each.owner.was_here}
    accounts = {
        user.id: account_of(user) for user in ctx.db.scalars(select(User).where(User.id.in_(here)))
    }
    with_codes: set[uuid.UUID] = set()
    for draft, _row, owner in new:
        if owner.id not in accounts:
            continue
        if isinstance(draft, CodeDraft):
            if owner.id not in with_codes:
                notices.changed(ctx, accounts[owner.id], "recovery_codes_created", None)
            with_codes.add(owner.id)
        else:
            is_app = isinstance(draft, TotpDraft)
            kind: notices.Kind = "factor_added" if is_app else "passkey_added"
            notices.changed(ctx, accounts[owner.id], kind, None)


def _insert(ctx: Context, rules: Rules, new: Sequence[_New]) -> None:
    kinds: dict[type[Draft], tuple[Any, str]] = {
        TotpDraft: (TotpFactor, "totp"),
        PasskeyDraft: (Passkey, "passkey"),
        CodeDraft: (RecoveryCode, ""),
    }
    causes: list[About] = []
    for draft_type, (model, kind) in kinds.items():
        rows = [each.values for each in new if isinstance(each.draft, draft_type)]
        if not rows:
            continue
        ctx.db.execute(insert(model), rows)
        if kind:
            causes += [
                {"user_id": row["user_id"], "details": {"kind": kind, "factor": str(row["id"])}}
                for row in rows
            ]
            asked = kind == "totp" or rules.after_password
            for row in rows:
                _set_state(ctx, row, asked=asked, switch=asked and kind == "passkey")
    record_all(ctx, Event.FACTOR_ADDED, causes)


def _set_state(ctx: Context, row: Mapping[str, Any], *, asked: bool, switch: bool) -> None:
    """The columns of the user; those that came with the user stay."""
    since = row["created_at"]
    values: dict[str, Any] = {"factors_since": func.coalesce(User.factors_since, since)}
    if asked:
        values["second_factor_at"] = func.coalesce(User.second_factor_at, since)
    if switch:
        values["passkey_after_password"] = True
    ctx.db.execute(
        update(User)
        .where(User.id == row["user_id"])
        .values(**values)
        .execution_options(synchronize_session=False)
    )
