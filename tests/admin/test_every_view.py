"""One walk through every view for administrators."""

import pytest
from structlog.testing import capture_logs

from tests.support import databases
from tests.support.administrators import SETTINGS
from tests.support.plans import fill, recorded, scans
from tests.support.site import Site
from tests.support.walk import views, walked
from tests.support.walk_admin import administration

PREFIX = "authsite.admin."
WALKED = {
    **SETTINGS,
    "limits": "on",
    "limits_storage": "database",
    "base_url": "http://localhost",
    "scopes": "\n  notes:read: Read notes",
    "personal_token_scopes": "notes:read",
}


@pytest.fixture
def site(fresh_url):
    """A site on a separate database, which is filled here."""
    made = Site(databases.migrated(fresh_url), **WALKED)
    yield made
    made.database.dispose()


@pytest.mark.both_databases
def test_every_view_answers_counts_before_it_writes_and_reads_by_an_index(site):
    """Limits that are counted while the transaction writes wait for it on SQLite, and then fail."""
    with walked(site) as seen, recorded(site.database) as statements, capture_logs() as logs:
        administration(site)
    own = {(name, method) for name, method in views(site) if name.startswith(PREFIX)}
    assert len(own) > 120
    assert own - seen == set()
    assert [each["event"] for each in logs if each["event"].startswith("limits_")] == []
    fill(site.database)
    found = {sql: scans(site.database, sql, values) for sql, values in statements.items()}
    assert {sql: tables for sql, tables in found.items() if tables} == {}
