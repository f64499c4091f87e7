"""Cross-site request forgery: a token in every form, and the Origin header.

The token is a MAC over a random cookie and the session: the signed double-submit cookie of OWASP's
CSRF Prevention Cheat Sheet. It needs no storage, and a login changes it.
"""

import secrets
from collections.abc import Mapping

from authsite.platform.addresses import shown
from authsite.platform.audit.events import Event
from authsite.platform.audit.excerpts import excerpt
from authsite.platform.denied_requests.reason import DenialReason, Texts
from authsite.platform.http import cookies
from authsite.platform.http.address import scheme_and_host
from authsite.platform.http.address_value import origin_of
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import _, translate
from authsite.platform.request_state import Request
from authsite.users.caller import signed_in

from .cookies import session_key
from .service import key_hash

CODE = "csrf"
MAX_SEED_LENGTH = 64  # characters
MAX_SHOWN = 200  # characters of a header in the log and the audit trail


class CsrfCause(DenialReason):
    """Why a form was rejected: the detail `reason` of `form.cross_origin`."""

    FOREIGN_ORIGIN = Texts(
        "foreign_origin",
        CODE,
        "The form came from a page of another origin than that of `base-url`. Either another site "
        "sent it, or the page was opened at an address that `base-url` does not name.",
        _("This page was opened at an address that is not ours. Open this page at ${url}"),
        status=403,
    )
    NO_COOKIE = Texts(
        "no_cookie",
        CODE,
        "The browser sent none of our cookies. It keeps none, or the page was opened by http while "
        "`base-url` is https: then a browser takes our cookies with https only.",
        _(
            "Your browser did not send back our cookie. Allow cookies for this site, and send the "
            "form again."
        ),
        status=403,
    )
    OTHER_SESSION = Texts(
        "other_session",
        CODE,
        "The form is that of another sign-in or another browser, or its token is of a secret that "
        "was retired.",
        _(
            "This page was open for too long, or is of an earlier sign-in. Check what you entered "
            "and send it again."
        ),
        status=403,
    )
    SIGNED_IN = Texts(
        "signed_in",
        CODE,
        "The form was opened before this browser signed in, in another tab for example.",
        _("You are signed in as ${address}."),
        status=403,
    )


class CsrfError(ApiError):
    """The form comes from another site, or from a page that is older than the session."""

    status = 403
    code = CODE
    audit_event = Event.FORM_CROSS_ORIGIN
    message = CsrfCause.OTHER_SESSION.person

    def __init__(
        self,
        cause: CsrfCause = CsrfCause.OTHER_SESSION,
        details: Mapping[str, str] | None = None,
        **values: str,
    ) -> None:
        """``details``: what was sent and expected, for the log and the audit trail.

        ``values`` are those of the message for people.
        """
        super().__init__(_(cause.person, mapping=values))
        text = _(cause.person, mapping=values | dict.fromkeys(values.keys() & {"address"}, "…"))
        self.args = (translate(text),)  # to operators, without the address of the person
        self.audit_subject = self.cause = cause
        self.why, self.shown = cause, details or {}
        details = self.shown
        self.audit_details = {"reason": str(cause), **details}
        self.reason = ", ".join([str(cause), *(f"{name} {text}" for name, text in details.items())])
        # Filled in by another origin, the form would need only the person's click to be ours.
        self.forgets_form = cause is CsrfCause.FOREIGN_ORIGIN


def seed(request: Request) -> str:
    """The random value in the browser's CSRF cookie; without one, a new cookie is set."""
    name = cookies.host_name(request, cookies.CSRF)
    value = cookies.read(request, name)
    if not value or len(value) > MAX_SEED_LENGTH:
        value = secrets.token_urlsafe(16)
        cookie = cookies.Cookie(name, value, max_age=None)
        request.add_response_callback(
            lambda request, response: cookies.write(request, response, cookie)
        )
    return value


def token(request: Request) -> str:
    """The CSRF token of this browser and session, for a hidden field."""
    return str(request.authsite.services.keys["csrf"].sign(_message(request)))


def check(request: Request, submitted: str | None) -> None:
    """Raise `CsrfError` unless the origin is ours and ``submitted`` is the browser's token."""
    if _is_foreign(request):
        own = request.authsite.address
        raise CsrfError(
            CsrfCause.FOREIGN_ORIGIN,
            {"sent": _origin_sent(request), "expected": own.origin},
            url=own.base_url,
        )
    has_cookies = any(request.authsite.cookies.values())
    ring = request.authsite.services.keys["csrf"]
    if ring.is_signature(_message(request), submitted or ""):
        return
    if not has_cookies:
        raise CsrfError(CsrfCause.NO_COOKIE, _arrived(request))
    caller = signed_in(request)
    if caller and ring.is_signature(_message(request, signed_in=False), submitted or ""):
        raise CsrfError(CsrfCause.SIGNED_IN, address=shown(caller.acting_user().email))
    raise CsrfError


def _is_foreign(request: Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        return origin != request.authsite.address.origin
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def _origin_sent(request: Request) -> str:
    origin = request.headers.get("Origin")
    if origin is None:
        return f"Sec-Fetch-Site: {request.headers['Sec-Fetch-Site']}"
    return excerpt(origin, MAX_SHOWN)


def _arrived(request: Request) -> dict[str, str]:
    """What the server saw of the request's address, if that is not https as it should be."""
    own = request.authsite.address
    scheme, host = scheme_and_host(request)
    if not own.https or scheme == "https":
        return {}
    return {"sent": excerpt(origin_of(scheme, host), MAX_SHOWN), "expected": own.origin}


def _message(request: Request, *, signed_in: bool = True) -> bytes:
    session = session_key(request) if signed_in else None
    return f"{request.authsite.csrf_seed}\n{key_hash(session) if session else ''}".encode()
