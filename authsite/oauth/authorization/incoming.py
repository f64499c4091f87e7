"""Read the request of a browser at the authorization endpoint."""

from typing import NamedTuple

from authsite.platform.http.application import HttpApplication
from authsite.platform.http.bodies import form_pairs
from authsite.platform.request_state import Request
from authsite.sign_in import pending
from authsite.sign_in.pending import read_key
from authsite.sign_in.sessions.cookies import session_key
from authsite.users.caller import signed_in

from . import continuation, service
from .continuation import AT, CHOSEN, Browser, Incoming
from .request import pairs_of
from .service import Visit

DECISION, CSRF = "decision", "csrf_token"
ALLOW, DENY, CONTINUE = "allow", "deny", "continue"


class Form(NamedTuple):
    """What a form of ours sends, apart from the request itself.

    ``shown``: the scope that the page has shown.
    """

    decision: str | None
    csrf_token: str | None
    shown: str | None


def of_query(request: Request) -> Incoming:
    """The request in the query. Raises `Refused`."""
    return continuation.read(request.authsite.ctx, pairs_of(request.query_string.encode("latin-1")))


def of_form(request: Request) -> tuple[Incoming, Form]:
    """The request in the query and the body of a POST, and what a form of ours adds.

    Raises `Refused`, and the errors of a body that cannot be read.
    """
    pairs = form_pairs(request)
    ours = dict(pair for pair in pairs if pair[0] in Form._fields)
    query = pairs_of(request.query_string.encode("latin-1"))
    rest = [pair for pair in pairs if pair[0] not in ours]
    incoming = continuation.read(request.authsite.ctx, [*query, *rest])
    return incoming, Form(*map(ours.get, Form._fields))


def is_cross_site(request: Request) -> bool:
    """Whether a form of another site was sent: then the browser has left out our cookies."""
    origin = request.headers.get("Origin")
    if origin is not None:
        return bool(origin != request.authsite.address.origin)
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def browser_of(request: Request) -> Browser:
    """What a seal is bound to. It gives the browser a CSRF cookie if it has none."""
    return Browser(request.authsite.csrf_seed, session_key(request))


def visit_of(request: Request, incoming: Incoming, form: Form | None = None) -> Visit:
    """Who is signed in with the browser, whether that was after the request came first, and what
    was pressed in a ``form`` of ours."""
    ctx, caller = request.authsite.ctx, signed_in(request)
    key = read_key(request)
    waits = key is not None and pending.find(ctx, key) is not None
    if caller is None or caller.browser_uuid is None:
        return Visit(None, pending=waits)
    who = service.signed_in(ctx, caller.acting_user(), caller.browser_uuid, caller.proved_by)
    if who is None:
        return Visit(None, pending=waits)
    fresh = proved = chosen = False
    if incoming.at or incoming.chosen:
        keys, browser = ctx.services.keys, browser_of(request)
        led = continuation.led_to_login(keys, incoming, browser)
        fresh, proved = who.began_after(led), who.proved_after(led)
        chosen = continuation.is_chosen(keys, incoming, browser)
    allowed = form is not None and form.decision == ALLOW
    return Visit(who, waits, fresh, proved, chosen, allowed, form.shown if form else None)


def came_from_form(request: Request) -> bool:
    """Whether a form of ours has led here, as far as one can tell: then no redirect leads on.

    ``Sec-Fetch-Site`` is ``same-origin`` only if all redirects on the way were ours.
    """
    query = request.query_string
    if request.method == "POST" or any(f"{name}=" in query for name in (AT, CHOSEN)):
        return True
    return request.headers.get("Sec-Fetch-Site") == "same-origin"


def first_address(request: Request, path: str = "/oauth/authorize") -> str | None:
    """The endpoint of this ``path`` at the first base URL, unless the request is there.

    The issuer is that address, and the cookies have to be those of its host.
    """
    http: HttpApplication = request.registry["authsite.http"]
    own = request.authsite.address
    first = http.addresses[0] if http.addresses else own
    return None if first.base_url == own.base_url else f"{first.base_url}{path}"
