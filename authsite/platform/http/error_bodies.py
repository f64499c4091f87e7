"""The JSON error bodies."""

from collections.abc import Collection
from typing import Any, Literal, NotRequired, cast, get_args

from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRoute, IRoutesMapper
from typing_extensions import TypedDict

from authsite.platform.i18n import translate
from authsite.platform.request_state import Request

from .api_metadata import response_body
from .application import HttpApplication
from .errors import ApiError, ErrorFormat
from .own_routes import is_own

# "fields" replaces "json" for status 422, with the setting `apiato-errors`.
ErrorStyle = Literal["json", "oauth", "fields"]


@response_body("One error.")
class ErrorDetail(TypedDict):
    code: str
    """Machine-readable and stable."""
    field: str | None
    """The field it is about, or null."""
    message: str
    """Human-readable."""


@response_body("An error, except at the OAuth endpoints and the proxies.")
class ErrorBody(TypedDict):
    message: str
    """Human-readable."""
    errors: list[ErrorDetail]
    """All errors; empty for a failed authentication."""
    request_id: NotRequired[str]
    """With status 500 only: the id to report."""


@response_body("An error at the OAuth endpoints and the proxies (RFC 6749, section 5.2).")
class OAuthErrorBody(TypedDict):
    error: str
    """Machine-readable and stable."""
    error_description: str
    """Human-readable."""
    message: str
    """For people; the same as `error_description` if that may have all its characters."""
    errors: NotRequired[list[ErrorDetail]]
    """Details, if there are any."""
    request_id: NotRequired[str]
    """With status 500 only: the id to report."""
    mfa_token: NotRequired[str]
    """With `mfa_required` at a login only: what the second step sends, once right and five times
    wrong at most."""
    expires_in: NotRequired[int]
    """With `mfa_token`: the seconds that it is valid for."""
    mfa_methods: NotRequired[list[str]]
    """With `mfa_token`: what can be given next, one of `passkey`, `totp`, `recovery_code` and
    `email`."""
    mfa_enroll: NotRequired[bool]
    """With `mfa_token`: whether the user must add a second factor now (`/v1/mfa/enroll`)."""
    passkey_options: NotRequired[dict[str, Any]]
    """With `mfa_token`, where a passkey can be given: the options for
    `PublicKeyCredential.parseRequestOptionsFromJSON`."""


@response_body("The invalid fields of a request, as Laravel lists them (setting `apiato-errors`).")
class FieldErrorsBody(TypedDict):
    message: str
    """Human-readable."""
    errors: dict[str, list[str]]
    """The messages of each field; of an error about no field, under its code."""


def error_style(error_format: Literal["json", "oauth"], status: int, apiato: bool) -> ErrorStyle:
    """How an error is written; ``apiato``: the setting `apiato-errors`."""
    return "fields" if apiato and error_format == "json" and status == 422 else error_format


def error_body(
    style: ErrorStyle, error: ApiError, request_id: str
) -> "ErrorBody | OAuthErrorBody | FieldErrorsBody":
    """The body of ``error``."""
    if style == "fields":
        return fields_body(error)
    return (oauth_body if style == "oauth" else json_body)(error, request_id)


def fields_body(error: ApiError) -> FieldErrorsBody:
    """``message``, and the messages of each field, as Laravel responds with status 422."""
    errors: dict[str, list[str]] = {}
    for item in error.details:
        errors.setdefault(item.field or item.code, []).append(translate(item.message))
    message = translate(error.message)
    return {"message": message, "errors": errors or {error.code: [message]}}


def json_body(error: ApiError, request_id: str) -> ErrorBody:
    """``message`` and ``errors``; a bug carries the request id and nothing else."""
    message = translate(error.message)
    details: list[ErrorDetail] = [
        {"code": item.code, "field": item.field, "message": translate(item.message)}
        for item in error.details
    ]
    if not details and error.listed:
        details = [{"code": error.code, "field": None, "message": message}]
    body: ErrorBody = {"message": message, "errors": details}
    if error.status == 500:
        body["request_id"] = request_id
    return body


def oauth_body(error: ApiError, request_id: str) -> OAuthErrorBody:
    """``error``, ``error_description`` and ``message`` (RFC 6749, section 5.2)."""
    message = description = translate(error.message)
    if error.why and error.why.in_answer and not message.isascii():
        description = error.why.description(error.shown)
    body: OAuthErrorBody = {
        "error": "invalid_request" if error.status in (408, 413, 415) else error.code,
        "error_description": description,
        "message": message,
    }
    if error.details:
        body["errors"] = json_body(error, request_id)["errors"]
    if error.status == 500:
        body["request_id"] = request_id
    return cast(OAuthErrorBody, {**body, **error.members})


# The route option ``errors``: the format of a route's errors.
#
# An error before routing, and one of a path that has no route, has the format of the routes that
# are above or beside the path.


class ErrorsOption:
    """The option ``errors`` of a route: "json", "oauth" or "html", which is the default."""

    def __init__(self, value: object, _config: object) -> None:
        if value not in get_args(ErrorFormat):
            formats = ", ".join(map(repr, get_args(ErrorFormat)))
            raise ConfigurationError(f"errors={value!r} on a route: give one of {formats}")
        self.value: ErrorFormat = value  # type: ignore[assignment]  # checked above

    def text(self) -> str:
        """What Pyramid shows of it."""
        return f"errors = {self.value}"

    phash = text
    name = "errors"

    def __call__(self, _info: object, _request: Request) -> bool:
        """An option, which matches every request."""
        return True


def stated_format(route: IRoute) -> ErrorFormat | None:
    """The format that a route states; None if it states none."""
    stated = (each.value for each in route.predicates if isinstance(each, ErrorsOption))
    return next(stated, None)


def collect_formats(event: ApplicationCreated) -> None:
    """At start-up: collect the formats that routes state, and those of paths and their folders.

    Only own routes count for paths. A folder whose routes differ has "html", but "json" if none of
    them is a page: programs ask there.
    """
    registry = event.app.registry
    http: HttpApplication = registry["authsite.http"]
    paths: dict[str, ErrorFormat] = {}
    folders: dict[str, set[ErrorFormat]] = {}
    for route in registry.getUtility(IRoutesMapper).get_routes():
        format_ = stated_format(route)
        if format_:
            http.route_formats[route.name] = format_
        if is_own(route.name):
            stated, whole = format_ or "html", f"/{route.pattern.strip('/')}"
            folder, _, name = whole.partition("{")[0].rpartition("/")
            folders.setdefault(folder, set()).add(stated)
            if name:
                paths[whole] = stated
    formats = {folder: _common(stated) for folder, stated in folders.items()}
    http.error_formats = {**formats, **paths}


def _common(stated: Collection[ErrorFormat]) -> ErrorFormat:
    first, *others = stated
    if others:
        return "html" if "html" in stated else "json"
    return first


def error_format(request: Request) -> ErrorFormat:
    """``request.authsite.error_format``: the format of the errors of ``request``."""
    http: HttpApplication = request.registry["authsite.http"]
    route: Any = getattr(request, "matched_route", None)
    if route is not None and (stated := http.route_formats.get(route.name)):
        return stated
    try:
        path = request.path_info
    except UnicodeDecodeError:
        path = request.environ["PATH_INFO"]
    return format_below(http.error_formats, path)


def format_below(formats: dict[str, ErrorFormat], path: str) -> ErrorFormat:
    """The format of the longest path in ``formats`` that is ``path`` or above it."""
    longest = max(map(len, formats), default=0)
    if len(path) > longest:  # so that the time does not depend on what a caller sends
        path = path[: longest + 1].rpartition("/")[0]
    while path and path not in formats:
        path = path.rpartition("/")[0]
    return formats.get(path, "html")
