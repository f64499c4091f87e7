"""The way back to the application (RFC 6749, section 4.1.2; RFC 9207)."""

from urllib.parse import urlencode

from pyramid.response import Response

from authsite.oauth.authorization_reasons import AnswerTo, Refused
from authsite.oauth.oidc.issuer import issuer_of
from authsite.platform.context import Services
from authsite.platform.http.methods import SAFE_METHODS
from authsite.platform.http.rendering import found
from authsite.platform.request_state import Request

from .continue_page import lead_to


def code_url(services: Services, answer_to: AnswerTo, code: str) -> str:
    """The URL that carries a code to the application."""
    return _url(services, answer_to, {"code": code})


def error_url(services: Services, answer_to: AnswerTo, refused: Refused) -> str:
    """The URL that tells the application why there is no code, in English."""
    error = {"error": refused.reason.error, "error_description": refused.description}
    return _url(services, answer_to, error)


def denied_url(services: Services, answer_to: AnswerTo) -> str:
    """The URL that tells the application that the user does not allow it."""
    error = {"error": "access_denied", "error_description": "The user did not allow this."}
    return _url(services, answer_to, error)


def lead_back(request: Request, application: str, url: str, *, after_form: bool) -> Response:
    """Lead the browser to the application of this name.

    ``after_form``: a form of ours led here, even by way of redirects. Chromium applies the policy's
    ``form-action`` to each hop after a form, so the browser gets a page that leads on.
    """
    if after_form or request.method not in SAFE_METHODS:
        request.response.status_int = 200  # a form with errors may have set another one
        return lead_to(request, application, url)
    return found(request, url)


def _url(services: Services, answer_to: AnswerTo, values: dict[str, str]) -> str:
    state = {} if answer_to.state is None else {"state": answer_to.state}
    query = urlencode({**values, **state, "iss": issuer_of(services)})
    uri = answer_to.redirect_uri
    return f"{uri}{'&' if '?' in uri else '?'}{query}"
