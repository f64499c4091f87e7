"""One walk through every view for administrators."""

import pytest
from structlog.testing import capture_logs

from tests.support.walk import views, walked
from tests.support.walk_admin import WALKED, administration

PREFIX = "authsite.admin."


@pytest.fixture
def site(site_with):
    return site_with(**WALKED)


def test_every_view_answers_and_counts_before_it_writes(site):
    """Limits that are counted while the transaction writes wait for it on SQLite, and then fail."""
    with walked(site) as seen, capture_logs() as logs:
        administration(site)
    own = {(name, method) for name, method in views(site) if name.startswith(PREFIX)}
    assert len(own) > 120
    assert own - seen == set()
    assert [each["event"] for each in logs if each["event"].startswith("limits_")] == []
