"""Serialization failures and deadlocks: the transaction is repeated, and no response shows them."""

import pytest

from authsite.platform.audit.models import AuditEvent
from authsite.platform.db.failures import RETRIES
from authsite.platform.runtime.counters import REQUESTS
from tests.support import databases
from tests.support.calls import REGISTER, assert_unavailable
from tests.support.site import WEB, Site

pytestmark = pytest.mark.parametrize("backend", ["postgresql"], indirect=True)

# A sequence counts the attempts, since it is not rolled back.
FAIL = """
CREATE SEQUENCE attempts;
CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('attempts') <= {times} THEN
    RAISE EXCEPTION 'a conflict' USING ERRCODE = '{sqlstate}';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER failing AFTER {event} ON {table} DEFERRABLE INITIALLY {moment}
  FOR EACH ROW EXECUTE FUNCTION fail_first();
"""


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, with the web client and Ann."""
    made = Site(databases.migrated(fresh_url), **WEB)
    made.keys = made.first_party("web")
    made.user()
    yield made
    made.database.dispose()


def fail(site, event, table, *, times=RETRIES, sqlstate="40001", moment="IMMEDIATE"):
    """The first ``times`` attempts to write to ``table`` fail, in the statement or at COMMIT."""
    with site.database.autocommit.connect() as connection:
        connection.exec_driver_sql(
            FAIL.format(event=event, table=table, times=times, sqlstate=sqlstate, moment=moment)
        )


def attempts(site):
    with site.database.autocommit.connect() as connection:
        return connection.exec_driver_sql("SELECT last_value FROM attempts").scalar()


@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
@pytest.mark.parametrize("moment", ["IMMEDIATE", "DEFERRED"])
def test_a_registration_is_repeated_with_its_body(site, sqlstate, moment):
    fail(site, "INSERT", "users", sqlstate=sqlstate, moment=moment)
    site.http.post("/v1/register", REGISTER, status=201)
    assert attempts(site) == RETRIES + 1
    assert site.events().count("user.created") == 2  # Ann, and this one


def test_the_metrics_count_only_the_response_that_the_client_gets(site):
    """Each repetition was a 503 in them, and alarmed the operator."""
    fail(site, "INSERT", "users", times=2)
    before = unavailable()
    answer = site.http.post("/v1/register", REGISTER, status=201)
    assert unavailable() == before
    with site.db() as db:
        created = db.query(AuditEvent).filter_by(event="user.created").all()[-1]
    assert created.request_id == answer.headers["X-Request-Id"]


def unavailable():
    """How many 503 the metrics have."""
    return sum(sum(numbers[1:]) for labels, numbers in REQUESTS.values() if "503" in labels)


def test_a_login_and_a_refresh_are_repeated(site):
    fail(site, "INSERT OR UPDATE", "families")
    tokens = site.login(site.keys)
    assert attempts(site) == RETRIES + 1
    with site.database.autocommit.connect() as connection:
        connection.exec_driver_sql("ALTER SEQUENCE attempts RESTART")
    site.refresh(site.keys, tokens["refresh_token"])
    assert attempts(site) == RETRIES + 1
    assert [family.generation for family in site.families()] == [1]


@pytest.mark.parametrize("call", ["register", "login"])
def test_after_three_repetitions_it_is_503(site, call):
    fail(site, "INSERT", "users" if call == "register" else "families", times=100)
    if call == "register":
        response = site.http.post("/v1/register", REGISTER, status="*")
    else:
        form = site.keys.form(
            grant_type="password", username="ann@example.com", password="correct horse battery"
        )
        response = site.http.post("/v1/oauth/token", form, status="*")
    assert_unavailable(response, call)
    assert attempts(site) == RETRIES + 1


def test_another_error_is_not_repeated(site):
    fail(site, "INSERT", "users", times=100, sqlstate="57014")  # as a statement_timeout
    assert_unavailable(site.http.post("/v1/register", REGISTER, status="*"), "register")
    assert attempts(site) == 1
