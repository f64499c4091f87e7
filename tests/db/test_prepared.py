"""Prepared queries: what they may be, and how long an answer may take."""

import gc
import weakref
from time import monotonic
from typing import NamedTuple
from uuid import UUID

import pytest
from sqlalchemy import bindparam, select, update
from sqlalchemy.exc import OperationalError

from authsite.oauth.models import Client
from authsite.platform.db import PreparedQuery, open_database
from authsite.platform.db.engine import DatabaseAway
from authsite.platform.db.prepared_connections import RESULT_TIMEOUT
from tests.support import databases
from tests.support.site import Site
from tests.support.stalling import stalling
from tests.support.timing import eventually

POSTGRESQL_ONLY = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
BY_ID = select(Client.name).where(Client.id == bindparam("client_id"))


class Name(NamedTuple):
    """The row of the queries here."""

    name: str


CLIENT_NAME = PreparedQuery(BY_ID, Name)


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, with a client."""
    made = Site(databases.migrated(fresh_url))
    made.keys = made.client()
    yield made
    made.database.dispose()


def answers(database, client_id):
    """Whether the breaker has found that the database answers again."""
    try:
        return bool(CLIENT_NAME.one(database, client_id=client_id))
    except DatabaseAway:
        return False


@pytest.mark.control("D03")
@POSTGRESQL_ONLY
def test_a_server_that_stalls_in_the_middle_of_a_result_gets_a_timeout(site, tmp_path):
    """All of the answer arrives but its last message, `ReadyForQuery`."""
    with stalling(site.database.autocommit.url, tmp_path) as (url, stall):
        database = open_database(url)
        client_id = UUID(site.keys.client_id)
        assert CLIENT_NAME.one(database, client_id=client_id)
        stall.set()
        begin = monotonic()
        with pytest.raises(OperationalError, match="does not answer in time"):
            CLIENT_NAME.one(database, client_id=client_id)
        assert monotonic() - begin <= 2 * RESULT_TIMEOUT
        stall.clear()
        # A probe that began before may have to time out, too.
        assert eventually(lambda: answers(database, client_id), 2 * RESULT_TIMEOUT)
        database.dispose()


@POSTGRESQL_ONLY
def test_statements_made_for_each_call_leave_nothing_behind(site):
    client_id = UUID(site.keys.client_id)
    for _ in range(20):
        inline = PreparedQuery(select(Client.name).where(BY_ID.whereclause), Name)
        assert inline.one(site.database, client_id=client_id) == ("test",)
    left = weakref.ref(inline)
    del inline
    gc.collect()
    assert left() is None
    connection = site.database.prepared._pop().driver_connection
    count = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%clients.name%'"
    assert connection.execute(count).fetchone() == (1,)
    connection.close()


def test_a_statement_that_contains_values_is_an_error(site):
    for statement in (
        select(Client.name).where(Client.name == "test"),
        select(Client.name).where(Client.id == bindparam("client_id")).limit(1),
        update(Client)
        .where(Client.id == bindparam("client_id"))
        .values(name="other")
        .returning(Client.name),
    ):
        with pytest.raises(ValueError, match=r"at module level.*bindparam"):
            PreparedQuery(statement, Name).one(site.database, client_id=UUID(site.keys.client_id))


@pytest.mark.parametrize("columns", [(Client.id,), (Client.name, Client.id), ()])
def test_a_row_type_with_other_fields_than_the_columns_is_refused(columns):
    with pytest.raises(TypeError, match="Name has the fields"):
        PreparedQuery(select(*columns), Name)


def test_a_number_may_grow_between_two_runs(site):
    """PostgreSQL prepares a parameter for integers of every size, whatever the first one was."""
    by_epoch = PreparedQuery(select(Client.name).where(Client.epoch == bindparam("epoch")), Name)
    assert by_epoch.one(site.database, epoch=0) == Name("test")
    assert by_epoch.one(site.database, epoch=2**31 - 1) is None
