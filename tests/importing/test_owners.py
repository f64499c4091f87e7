"""Nothing that hangs on a user or a client is taken for one whom the source does not bring.

An id is not a secret: it is `sub` of ID tokens. A file of another party must not add a way into an
account that is here, nor an address to which codes are sent.
"""

import json
import uuid

import pytest
from sqlalchemy import func, select

from authsite.groups import administrators, service
from authsite.groups.service import GroupValues
from authsite.oauth.models import Client, ClientUri, Resource
from authsite.platform.audit.models import AuditEvent
from authsite.platform.audit.service import Cause
from authsite.platform.mail.outbox import OutboxMessage
from authsite.platform.runtime import clock
from authsite.sign_in.methods.passkeys.stored import Passkey
from authsite.sign_in.methods.recovery_codes.service import PURPOSE, RecoveryCode
from authsite.sign_in.methods.totp.models import TotpFactor
from authsite.transfer.exporting import export as exporting
from authsite.transfer.importing import own
from authsite.transfer.importing.cli import import_
from authsite.users.groups.labels import GroupMember
from authsite.users.identities import Identity
from authsite.users.models import User
from tests.importing.csv_rows import good, write_csv
from tests.importing.test_factors import AUTHENTICATORS, BASE32, authenticator_row
from tests.support import foreign_systems as other
from tests.support.acting import acting
from tests.support.site import PASSWORD

MADE = "2024-03-04T05:06:07.000000Z"
PARTS = (TotpFactor, Passkey, RecoveryCode, Identity, GroupMember, ClientUri, Resource)
MAILS = select(OutboxMessage).where(OutboxMessage.kind != "admin_granted")
EVIL = "https://evil.example/callback"


def factor(kind, user_id, **more):
    return {
        "type": kind, "id": str(uuid.uuid4()), "user_id": user_id, "created_at": MADE,
        "used_at": None, **more,
    }  # fmt: skip


def part_lines(user_id, client_id, mac):
    """A line of every kind that hangs on a user or a client."""
    return {
        "totp": factor(
            "totp", user_id, secret=BASE32, digits=6, period=30, algorithm="SHA1", last_step=0,
            failures=0,
        ),
        "passkey": factor(
            "passkey", user_id, credential_id=uuid.uuid4().hex, public_key="pQE", user_handle="YQ",
            rp_id="localhost", sign_count=0, aaguid=str(uuid.UUID(int=0)), transports="",
            backup_eligible=True, backed_up=True, name="Key",
        ),
        "recovery_code": factor("recovery_code", user_id, mac=mac),
        "identity": factor(
            "identity", user_id, provider="google", issuer="https://google.example",
            subject=uuid.uuid4().hex, email="evil@example.com", trusted=True,
        ),
        "membership": {
            "type": "membership", "user_id": user_id, "group_name": "ops", "created_at": MADE,
        },
        "client_uri": {
            "type": "client_uri", "client_id": client_id, "kind": "redirect", "uri": EVIL,
            "position": 0,
        },
        "resource": {
            "type": "resource", "id": str(uuid.uuid4()), "uri": "https://api.evil.example",
            "scopes": "", "client_id": client_id, "tokens": "opaque", "created_at": MADE,
            "updated_at": MADE,
        },
    }  # fmt: skip


# Of the lines of an export: what nothing hangs on, what others hang on, and what is not imported.
ALONE = {"group"}
OWNERS = {"user", "client"}
LEFT_OUT = {"family", "personal_token", "audit_event", "invitation", "consent"}


@pytest.fixture
def here(site):
    """A site with an owner, a user, and clients of two types."""
    ann, bo = site.user(confirmed=True), site.user("bo@example.com", confirmed=True)
    services, cause = site.app.registry["authsite"], Cause("command")
    with site.db() as db:
        ctx = acting(db, services)
        service.create(ctx, "ops", GroupValues("Operations"), cause)
        administrators.grant(ctx, db.get(User, ann.id), "owner", cause)
        site.macs = [next(iter(services.sealing.macs(PURPOSE, b"%d" % n))) for n in range(9)]
    site.web = uuid.UUID(site.client("server", name="web").client_id)
    site.api = uuid.UUID(site.client("resource-server", name="api").client_id)
    site.ann, site.bo = ann, bo
    return site


def counts(site):
    with site.db() as db:
        return [db.scalar(select(func.count()).select_from(model)) for model in PARTS]


def line_of(site, owner, **more):
    """The line of a user or client as an export has it."""
    with site.db() as db:
        row = db.get(User, owner) or db.get(Client, owner)
        created = row.created_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        if isinstance(row, User):
            values = {"type": "user", "email": row.email, "email_verified_at": created}
        else:
            values = {
                "type": "client", "name": row.name, "client_type": row.type,
                "secrets": [{"scheme": "sha256", "hash": "0" * 64}],
            }  # fmt: skip
    return {"id": str(owner), "created_at": created, "updated_at": created, **values, **more}


def write_export(path, *lines):
    head = {"type": "export", "format": 1, "version": "x", "exported_at": MADE, "secrets": True}
    every = [head, *lines, {"type": "end"}]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in every))
    return path


def lines_for(site, user_id, *, client_id=None):
    made = part_lines(user_id, client_id or str(site.web), site.macs.pop())
    if client_id is None:
        made["resource"]["client_id"] = str(site.api)
    return made


def test_every_kind_of_line_is_covered(here):
    known = {
        part.line.fields.__annotations__["type"].__args__[0]
        for part in exporting.parts_of(here.app.registry["authsite"])
    }
    assert known >= LEFT_OUT
    assert known - OWNERS - ALONE - LEFT_OUT == set(part_lines("", "", ""))


def spellings(id_):
    return [str(id_), str(id_).upper(), f"{{{id_}}}", f"urn:uuid:{id_}", id_.hex, f" {id_} "]


@pytest.mark.parametrize("who", ["ann", "bo"])
def test_no_line_is_taken_without_that_of_its_owner(here, importing, tmp_path, who):
    before, user_id = counts(here), getattr(here, who).id
    for spelling in spellings(user_id):
        for client in spellings(here.web)[:2]:
            lines = lines_for(here, spelling, client_id=client)
            lines["resource"]["client_id"] = str(here.api)
            path = write_export(tmp_path / "x.jsonl", *lines.values())
            for dry in ([], ["--dry-run"]):
                importing("authsite", path, *dry, status=1)
                report = (tmp_path / "report.jsonl").read_text().splitlines()
                assert len(report) == len(lines)
                assert {json.loads(line)["result"] for line in report} == {"refused"}
        here.macs.append(lines["recovery_code"]["mac"])
    assert counts(here) == before


@pytest.mark.parametrize("created", [None, MADE])
def test_nor_beside_a_line_that_is_not_shown_to_be_the_same(here, importing, tmp_path, created):
    before = counts(here)
    owners = [line_of(here, each, created_at=created) for each in (here.bo.id, here.web, here.api)]
    path = write_export(tmp_path / "x.jsonl", *owners, *lines_for(here, str(here.bo.id)).values())
    importing("authsite", path, status=1)
    assert counts(here) == before


def test_beside_the_same_owner_they_are_taken_and_told(here, importing, tmp_path, frozen):
    lines = lines_for(here, str(here.bo.id).upper())
    owners = [line_of(here, each) for each in (here.bo.id, here.web, here.api)]
    path = write_export(tmp_path / "x.jsonl", *owners, *lines.values())
    importing("authsite", path, "--dry-run")
    with here.db() as db:
        assert db.scalars(MAILS).all() == []
    frozen.advance(86400)
    done = importing("authsite", path)
    assert {row["table"] for row in done["rows"]} == {"users", "clients"}
    assert (done["users"]["present"], done["clients"]["present"]) == (1, 2)
    with here.db() as db:
        mails = db.scalars(MAILS).all()
        assert {mail.address for mail in mails} == {"bo@example.com"}
        assert sorted(mail.kind for mail in mails) == [
            "factor_added", "identity_linked", "passkey_added", "recovery_codes_created",
        ]  # fmt: skip
        [changed] = db.scalars(select(AuditEvent).where(AuditEvent.event == "client.changed"))
        assert (changed.client_id, changed.details["uri"]) == (here.web, EVIL)
        for model in (TotpFactor, Passkey, Identity):  # new here: a recovery removes what is new
            assert db.scalars(select(model.created_at)).all() == [clock.now()]
        assert db.get(User, here.bo.id).factors_since == clock.now()


def test_an_administrator_gets_nothing_even_beside_the_same_line(here, importing, tmp_path):
    before = counts(here)
    lines = lines_for(here, str(here.ann.id))
    of_user = {kind: line for kind, line in lines.items() if "user_id" in line}
    path = write_export(tmp_path / "x.jsonl", line_of(here, here.ann.id), *of_user.values())
    done = importing("authsite", path)
    refused = [row for row in done["rows"] if row["table"] != "users"]
    assert len(refused) == len(of_user)
    assert all("administrator" in row["reason"] for row in refused)
    assert counts(here) == before


def test_a_second_row_of_an_id_is_an_error_and_nothing_hangs_on_it(here, importing, tmp_path):
    before = counts(here)
    owners = [line_of(here, each) for each in (here.bo.id, here.web, here.api)]
    again = [{**each, "id": each["id"].upper()} for each in owners]
    lines = lines_for(here, str(here.bo.id))
    path = write_export(tmp_path / "x.jsonl", *owners, *again, *lines.values())
    done = importing("authsite", path)
    assert (done["users"]["refused"], done["clients"]["refused"]) == (1, 2)
    seconds = [row for row in done["rows"] if "earlier row has the same id" in row["reason"]]
    assert len(seconds) == 3
    assert counts(here) == before


def test_a_second_row_of_the_id_of_a_part_is_an_error_in_any_spelling(here, importing, tmp_path):
    lines = lines_for(here, id_ := str(uuid.uuid4()))
    parts = [lines[kind] for kind in ("totp", "passkey", "recovery_code", "identity")]
    again = [{**each, "id": each["id"].upper()} for each in parts]
    path = write_export(tmp_path / "x.jsonl", new_user(id_), *parts, *again)
    done = importing("authsite", path)
    reasons = [row["reason"] for row in done["rows"]]
    assert ["an earlier row has the same id" in reason for reason in reasons] == [True] * 4


def test_a_part_with_the_id_of_another_one_costs_only_its_own_row(here, importing, tmp_path):
    owners = [line_of(here, here.bo.id), new_user(id_ := str(uuid.uuid4()))]
    first, second = lines_for(here, str(here.bo.id)), lines_for(here, id_)
    for kind in ("totp", "passkey", "recovery_code", "identity"):
        second[kind]["id"] = first[kind]["id"]
    of_bo = [line for line in first.values() if "user_id" in line]
    importing("authsite", write_export(tmp_path / "x.jsonl", owners[0], *of_bo))
    others = [line for line in second.values() if "user_id" in line]
    done = importing("authsite", write_export(tmp_path / "y.jsonl", owners[1], *others))
    reasons = [row["reason"] for row in done["rows"]]
    assert ["has this id" in reason for reason in reasons] == [True] * 4


def new_user(id_, **more):
    return {
        "type": "user", "id": id_, "email": "new@example.com", "created_at": MADE,
        "email_verified_at": MADE, **more,
    }  # fmt: skip


def test_a_new_user_gets_all_and_no_mail(here, importing, tmp_path):
    id_ = str(uuid.uuid4())
    lines = [line for line in lines_for(here, id_).values() if "user_id" in line]
    done = importing("authsite", write_export(tmp_path / "x.jsonl", new_user(id_), *lines))
    assert done["rows"] == []
    with here.db() as db:
        assert db.scalars(MAILS).all() == []
        assert db.scalars(select(Passkey.created_at)).one().isoformat().startswith("2024-03-04")


def django_source(tmp_path, here, user_id, owners):
    rows = [authenticator_row(1, user_id, "totp", {"secret": BASE32})]
    tables = {
        "auth_user": (other.DJANGO_USERS, owners),
        "mfa_authenticator": (AUTHENTICATORS, rows),
    }
    return other.sqlite_database(tmp_path / f"{uuid.uuid4()}.sqlite", **tables)


@pytest.mark.parametrize("who", ["ann", "bo"])
def test_a_factor_of_django_is_not_taken_for_a_user_who_is_here(here, importing, tmp_path, who):
    user = getattr(here, who)
    row = other.django_user(str(user.id), email=user.email, username=who)
    others = [other.django_user(1)]
    for spelling in spellings(user.id)[:2]:
        for owners in (
            others,
            [*others, {**row, "date_joined": None}],
            [*others, {**row, "date_joined": MADE}],
        ):
            url = django_source(tmp_path, here, spelling, owners)
            done = importing("django", url, "--factors")
            assert done["factors"] == {"imported": 0, "present": 0, "refused": 1}
    joined = {**row, "date_joined": user.created_at.isoformat()}
    done = importing("django", django_source(tmp_path, here, str(user.id), [joined]), "--factors")
    assert done["factors"]["imported"] == (1 if who == "bo" else 0)


def csv_source(folder, rows):
    return write_csv(folder / "users.csv", rows)


def passport_source(folder, rows):
    clients = [
        {**other.client(str(row["id"]), secret="x" * 40, redirect=EVIL), "created_at": None}
        for row in rows
    ]
    return other.sqlite_database(
        folder / f"{uuid.uuid4()}.sqlite",
        users=(other.PASSPORT_USERS, [other.user(**as_user(row)) for row in rows]),
        oauth_clients=(other.PASSPORT_CLIENTS, clients),
    )


def as_user(row):
    return {"number": row["id"], "email": row["email"], "created_at": row.get("created_at")}


def django_users(folder, rows):
    users = [
        {**other.django_user(row["id"], email=row["email"]), "date_joined": row["created_at"]}
        for row in rows
    ]
    return other.sqlite_database(
        folder / f"{uuid.uuid4()}.sqlite", auth_user=(other.DJANGO_USERS, users)
    )


def own_source(folder, rows):
    return write_export(
        folder / "x.jsonl", *(new_user(row["id"], **{**row, "type": "user"}) for row in rows)
    )


SOURCES = {
    "authsite": own_source, "csv": csv_source, "django": django_users, "passport": passport_source,
}  # fmt: skip


def test_every_importer_has_its_source_here():
    assert set(SOURCES) == set(import_.commands)


@pytest.mark.parametrize("kind", SOURCES)
def test_no_importer_takes_a_user_of_the_same_id_for_one_it_has_written(
    here, importing, tmp_path, kind
):
    """Other people's ids, in any spelling, without the time at which they were created."""
    rows = [
        {"id": id_, "email": f"u{n}@example.com", "created_at": None}
        for n, id_ in enumerate([str(here.ann.id), str(here.bo.id).upper()])
    ]
    rows.append({"id": str(uuid.uuid4()), "email": "other@example.com", "created_at": None})
    done = importing(kind, SOURCES[kind](tmp_path, rows))
    assert done["users"] == {"imported": 1, "present": 0, "refused": 2}


@pytest.mark.parametrize("kind", SOURCES)
def test_no_importer_takes_a_second_row_of_one_id(here, importing, tmp_path, kind):
    id_ = str(uuid.uuid4())
    rows = [
        {"id": each, "email": f"u{n}@example.com", "created_at": MADE}
        for n, each in enumerate([id_, id_.upper(), id_])
    ]
    if kind in ("django", "passport"):
        rows = [rows[0], rows[1]]  # a primary key, without case in some databases
    for dry in (["--dry-run"], []):
        done = importing(kind, SOURCES[kind](tmp_path, rows), *dry)
        assert done["users"] == {"imported": 1, "present": 0, "refused": len(rows) - 1}
        reasons = [row["reason"] for row in done["rows"] if row["table"] == "users"]
        assert all("an earlier row has the same id: " in reason for reason in reasons)


def test_a_client_of_passport_with_the_id_of_one_that_is_here_changes_nothing(
    here, importing, tmp_path
):
    before = counts(here)
    row = {"id": str(here.web).upper(), "email": "x@example.com", "created_at": MADE}
    done = importing("passport", passport_source(tmp_path, [row]))
    assert done["clients"] == {"imported": 0, "present": 0, "refused": 1}
    assert counts(here) == before


@pytest.mark.parametrize("kind", ["group", "resource"])
def test_an_object_of_the_same_name_is_not_present_without_its_time(
    here, importing, tmp_path, kind
):
    lines = {
        "group": {"type": "group", "name": "ops", "title": "Ops", "created_at": None},
        "resource": {
            "type": "resource", "uri": "https://api.example.org", "tokens": "opaque",
            "created_at": None,
        },
    }  # fmt: skip
    path = write_export(tmp_path / "x.jsonl", new_user(str(uuid.uuid4())), lines[kind])
    importing("authsite", path)
    done = importing("authsite", path)
    assert done[f"{kind}s"] == {"imported": 0, "present": 0, "refused": 1}


def test_memberships_of_a_group_that_was_not_taken_are_refused(here, importing, tmp_path):
    id_ = str(uuid.uuid4())
    group = {"type": "group", "name": "ops", "title": "Other", "created_at": MADE}
    membership = {
        "type": "membership", "user_id": id_, "group_name": "ops", "created_at": MADE,
    }  # fmt: skip
    done = importing(
        "authsite", write_export(tmp_path / "x.jsonl", new_user(id_), group, membership)
    )
    assert done["memberships"] == {"imported": 0, "present": 0, "refused": 1}


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)  # which compares no NUL
def test_a_nul_in_a_line_costs_this_line_alone(here, importing, tmp_path):
    owners = [line_of(here, each) for each in (here.bo.id, here.web, here.api)]
    lines = [
        {**line, **({"id": str(uuid.uuid4())} if "id" in line else {}), field: "nul\0"}
        for line in lines_for(here, str(here.bo.id)).values()
        for field in line
        if (line["type"], field) != ("resource", "id") and field != "type"  # which gets another
    ]
    group = {"type": "group", "name": "nul\0", "title": "Ops", "created_at": MADE}
    path = write_export(tmp_path / "x.jsonl", *owners, *lines, group)
    done = importing("authsite", path)
    assert (done["users"]["present"], done["clients"]["present"]) == (1, 2)
    assert len([row for row in done["rows"] if row["result"] == "refused"]) == len(lines) + 1


def test_the_users_who_are_here_go_on_signing_in_with_their_password(here, importing, tmp_path):
    path = write_export(tmp_path / "x.jsonl", *lines_for(here, str(here.bo.id)).values())
    importing("authsite", path, status=1)
    here.login(here.client(), "bo@example.com", PASSWORD)


def test_rows_without_an_id_are_known_by_their_address(here, importing, tmp_path):
    rows = [{**good("a"), "id": ""}, {**good("b"), "id": ""}, {**good("A"), "id": ""}]
    done = importing("csv", write_csv(tmp_path / "users.csv", rows))
    assert done["users"] == {"imported": 2, "present": 0, "refused": 1}
    again = importing("csv", write_csv(tmp_path / "users.csv", rows[:2]))
    assert again["users"]["present"] == 2


@pytest.mark.parametrize(
    ("name", "stored"), [("Key\n\u202eyek", "Key yek"), ("\u2800", "Passkey"), ("Ann’s", "Ann’s")]
)
def test_the_name_of_a_passkey_is_one_line(here, importing, tmp_path, name, stored):
    """It is in our mails, and on the pages of administrators."""
    user_id = str(uuid.uuid4())
    line = {**part_lines(user_id, "", "")["passkey"], "name": name}
    importing("authsite", write_export(tmp_path / "x.jsonl", new_user(user_id), line))
    with here.db() as db:
        assert db.scalars(select(Passkey.name)).all() == [stored]


@pytest.mark.parametrize(
    ("member", "counts"), [({"uv_initialized": True}, True), ({"uv_initialized": False}, False)]
)
def test_that_a_passkey_has_verified_its_user_is_imported_as_the_line_says(member, counts):
    row = {**part_lines(str(uuid.uuid4()), "", "")["passkey"], **member}
    assert own.passkey(row).uv_initialized is counts


def test_a_passkey_of_an_export_of_before_has_not_verified_its_user():
    assert own.passkey(part_lines(str(uuid.uuid4()), "", "")["passkey"]).uv_initialized is False
