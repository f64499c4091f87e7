"""The context in which a test calls a use case directly."""

from types import SimpleNamespace

from authsite.platform.context import Context
from authsite.platform.http.request_info import RequestInfo
from authsite.platform.registrations import Registrations

NONE = SimpleNamespace(
    settings=None,
    database=None,
    passwords=None,
    registrations=Registrations(),
)


def acting(db, services=NONE, **info):
    """A context whose session is ``db``; ``services`` for use cases that need any.

    ``info``: what the request is like, such as ``language="de"``.
    """
    return Context(services, lambda: RequestInfo(**info), lambda: db)
