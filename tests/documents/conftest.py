"""A site that knows clients by their documents, and such a document."""

import pytest

from tests.support.authorizing import OPENID
from tests.support.documents import described

SCOPES = "notes:read: Read your notes\nbilling: See your bills"
ALL = {
    **OPENID,
    "client_id_documents": "*",
    "client_registration_scopes": "notes:read",
    "scopes": SCOPES,
}


@pytest.fixture
def issuer(site_with):
    """A site where any document can describe a client."""
    return site_with(**ALL)


@pytest.fixture
def ann(issuer):
    """A user with a confirmed address."""
    return issuer.user(confirmed=True)


@pytest.fixture
def there(monkeypatch, tmp_path):
    """The site of the application."""
    with described(monkeypatch, tmp_path) as there:
        yield there
