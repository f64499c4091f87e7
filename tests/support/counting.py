"""Which requests count at which limits, and which GET requests write."""

from contextlib import contextmanager
from dataclasses import dataclass, field

from pyramid.events import NewRequest

from authsite.platform.rate_limit.limiter import counted_by
from authsite.platform.settings.rate_limits import RATE_LIMITS
from tests.support.statements import noted

WRITES = ("INSERT", "UPDATE", "DELETE")
NOTES = "denied_requests"
"""The table of what was denied, which is bounded: what is written there is not asked about."""


@dataclass
class Sent:
    """One request as it came, without cookies and headers; ``limits``: those that it counted.

    ``token``: whether it had one. ``wrote``: whether it wrote anything.
    """

    method: str
    path: str
    body: bytes
    content_type: str
    token: bool
    route: str | None = None
    limits: set[str] = field(default_factory=set)
    wrote: bool = False


@contextmanager
def watched(site):
    """The list that has every request of the block as a `Sent`."""
    seen, now, registry = [], [], site.app.registry

    def begin(event):
        request, environ = event.request, event.request.environ
        content_type = environ.get("CONTENT_TYPE", "")
        token = environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer ")
        sent = Sent(request.method, request.path_qs, request.body, content_type, token)
        seen.append(sent)
        now[:] = [sent]
        request.add_finished_callback(lambda request: end(request, sent))

    def end(request, sent):
        sent.route = getattr(request.matched_route, "name", None)
        now.clear()

    def note(statement, parameters):
        writes = statement.lstrip().startswith(WRITES) and NOTES not in statement
        if not now or not writes:
            return
        [sent] = now
        sent.wrote = True
        if statement.startswith("INSERT INTO limit_counters"):
            values = parameters.values() if hasattr(parameters, "values") else parameters
            keys = [each for each in values if isinstance(each, str) and "/" in each]
            sent.limits |= set(map(counted_by, keys)) & set(RATE_LIMITS)

    registry.registerHandler(begin, [NewRequest])
    try:
        with noted(site.database, note):
            yield seen
    finally:
        registry.unregisterHandler(begin, [NewRequest])
