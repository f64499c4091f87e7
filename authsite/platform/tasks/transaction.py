"""The transaction of a background task, which is of no request."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from authsite.platform.context import Context, Services
from authsite.platform.http.request_info import RequestInfo


@contextmanager
def transaction(services: Services) -> Iterator[Context]:
    """A context without a request, whose transaction is committed at the end."""
    settings = services.settings
    info = RequestInfo(None, "authsite", None, settings.base_url, settings.languages[0])
    with (
        Session(services.database.transactional, expire_on_commit=False) as db,
        db.begin(),
    ):
        yield Context(services, lambda: info, lambda: db)
