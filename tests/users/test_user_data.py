"""The registered tables with data of users: none is missing, and all are erased."""

import json

import pytest
from sqlalchemy import func, select

from authsite.platform.db.base import Base
from authsite.platform.user_data import USER_DATA
from authsite.transfer.importing import own
from authsite.users.service import erase
from tests.support.acting import acting
from tests.support.pages import sign_in
from tests.support.personal import created

PERSONAL = {"user_id", "address", "email", "agent"}  # columns that say something about a person
READ = {
    "user": own.user,
    "identity": own.identity,
    "client": own.client,
    "client_uri": own.client_uri,
    "resource": own.resource,
    "totp": own.totp,
    "passkey": own.passkey,
    "recovery_code": own.recovery_code,
}  # of the lines, what an import makes
REQUIRED = {
    "id": "1", "name": "n", "client_type": "password", "user_id": "1", "provider": "google",
    "issuer": "https://accounts.example", "subject": "1",
    "secret": "GEZDGNBVGY3TQOJQ", "algorithm": "SHA1", "credential_id": "aa", "public_key": "aa",
    "user_handle": "aa", "rp_id": "example.com", "aaguid": "0" * 8 + "-0000-0000-0000-" + "0" * 12,
    "mac": "m",
    "client_id": "1", "kind": "redirect", "uri": "https://app.example/callback",
}  # fmt: skip
NOT_READ = {
    "origin",  # that of an imported user is the import
    *("client_uri", "document_uri"),  # of clients that no administrator has registered: left out
}


@pytest.fixture
def registered(site):
    return list(USER_DATA.of(site.app.registry["authsite"]).values())


def test_no_table_about_people_is_missing(registered):
    about = {
        table.name for table in Base.metadata.sorted_tables if PERSONAL & set(table.columns.keys())
    }
    assert about - {data.model.__tablename__ for data in registered} == set()


def test_each_table_of_a_user_is_erased_by_its_foreign_key_or_a_function_or_is_retained(registered):
    for data in registered:
        column = data.model.__table__.columns.get(data.user)
        if column is None or data.user == "id" or data.erase or data.retained:
            continue
        [key] = column.foreign_keys
        assert (key.column.table.name, key.ondelete) == ("users", "CASCADE"), data.name


def test_nothing_of_an_erased_user_is_left_but_what_is_registered_as_retained(site, registered):
    ann = site.user(confirmed=True)
    keys = site.client()
    token = site.login(keys)["access_token"]
    sign_in(site)
    created(site, token)
    site.http.post_json(
        "/v1/password/forgot",
        {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"},
    )
    before = rows_of(site, registered, ann.id)
    with site.db() as db:
        erase(acting(db, site.app.registry["authsite"]), ann.id, None)
        db.commit()
    after = rows_of(site, registered, ann.id)
    assert len([name for name, rows in before.items() if rows]) >= 6
    assert {name for name, rows in after.items() if rows} == {"audit_events"}


def test_an_import_reads_every_field_of_the_lines_that_it_takes(registered):
    class Noting(dict):
        def get(self, name, default=None):
            read.add(name)
            return super().get(name, default)

    for data in registered:
        if data.line is None:
            continue
        fields = data.line.fields.__annotations__
        [kind] = fields["type"].__args__
        if kind in READ:
            read = {"type"}
            given = dict.fromkeys(fields) | REQUIRED
            READ[kind](Noting(json.loads(json.dumps(given))))
            assert read == set(fields) - NOT_READ - ({"id"} if kind == "resource" else set()), kind


def rows_of(site, registered, user_id):
    with site.db() as db:
        return {
            data.name: db.scalar(
                select(func.count())
                .select_from(data.model)
                .where(getattr(data.model, data.user) == user_id)
            )
            for data in registered
            if data.user in data.model.__table__.columns
        }
