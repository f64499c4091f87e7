"""``request.authsite``: the one attribute that authsite puts on a request.

A host application may use any other name, such as ``request.db``, for its own purposes.
"""

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Protocol

from pyramid import request as pyramid_request
from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError
from pyramid.interfaces import IRequestExtensions, IRoute
from pyramid.registry import Registry
from pyramid.response import Response

if TYPE_CHECKING:
    from pyramid.config import Configurator

    from authsite.platform.context import Context, Services
    from authsite.platform.db.engine import Database
    from authsite.platform.http.address_value import Address
    from authsite.platform.http.errors import ApiError, ErrorFormat, FieldError
    from authsite.platform.http.request_info import RequestInfo
    from authsite.platform.settings import Settings

STATE = "authsite.request_state"
"""The key of the registry with the class of ``request.authsite``."""
_EMPTY: Mapping[str, Any] = MappingProxyType({})


class RequestState:
    """The attributes of ``request.authsite``.

    Each package adds attributes with ``config.add_request_attribute``; each is computed once,
    when it is first read. Each application has a separate subclass. What belongs to a feature
    has no type here: its package has a function that reads it with its type.
    """

    services: "Services"
    settings: "Settings"
    database: "Database"
    ctx: "Context"
    request_id: str
    request_info: "RequestInfo"
    client_address: str | None
    through_trusted_proxy: bool
    cookies: dict[str, tuple[str, ...]]
    address: "Address"
    base_urls: tuple[str, ...]
    error_format: "ErrorFormat"
    record_denial: "Callable[[ApiError], None]"
    record_exceeded: Callable[[str, str], None]
    note_denied: "Callable[[ApiError, int], None]"
    check_csrf: Callable[[str | None], None]
    csrf_seed: str
    csrf_token: str
    next: str | None
    known_address: str | None

    caller: Any = None
    """Who sends the request; set by the guard that accepted it. Read it with `caller_of`."""
    administrator: Any = None
    """The administrator that a view of `authsite.admin` is called by."""
    admin_places: Any
    """The navigation of the console, of `authsite.admin.navigation`."""
    signed_in: Any
    """The user of the browser's session, or None. Read it with `signed_in`."""
    guarding = False
    """True while a guard authenticates the caller."""
    validated: Any = None
    """The validated body or form: an instance of the model that the view names."""
    raw_form: Mapping[str, Any] = _EMPTY
    """The fields of a form, before validation."""
    form_data: Mapping[str, Any] = _EMPTY
    """The fields of a form without passwords and tokens: they may be shown again."""
    form_errors: "Sequence[FieldError]" = ()
    """The errors of a form that is shown again."""

    def __init__(self, request: "Request") -> None:
        # Weak: in a cycle only the garbage collector frees the request, which costs a guarded
        # request a fifth of its time.
        self.request = weakref.ref(request)


class Request(Protocol):
    """The attributes of a request that authsite uses. The class is Pyramid's, or the host's."""

    authsite: RequestState
    registry: Registry
    response: Response
    tm: Any
    environ: dict[str, Any]
    headers: Mapping[str, str]
    method: str
    scheme: str
    script_name: str
    path_info: str
    path_qs: str
    query_string: str
    GET: Mapping[str, str]
    matchdict: Mapping[str, str]
    matched_route: IRoute
    content_type: str
    content_length: int | None
    charset: str | None
    is_body_readable: bool
    is_body_seekable: bool
    body_file: IO[bytes]
    accept_encoding: Any
    make_body_seekable: Callable[[], None]
    add_response_callback: Callable[[Callable[["Request", Any], None]], None]
    add_finished_callback: Callable[[Callable[["Request"], None]], None]
    route_url: Callable[..., str]


View = Callable[[object, Request], Response]
"""A view as Pyramid calls it, with the context of traversal."""


def view_options(*names: str) -> Callable[[Any], Any]:
    """Decorator of a view deriver that states which view options it reads, as Pyramid requires."""

    def decorate(deriver: Any) -> Any:
        deriver.options = names
        return deriver

    return decorate


class LazyAttribute:
    """An attribute of a `RequestState`, computed from the request when it is first read."""

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        self._name, self._function = name, function

    def __get__(self, state: Any, _owner: type) -> Any:
        # From now on Python finds the attribute of the instance first (Descriptor HowTo Guide).
        value = state.__dict__[self._name] = self._function(state.request())
        return value


def add_request_attribute(
    config: "Configurator", name: str, function: Callable[[Any], Any]
) -> None:
    """Directive: ``request.authsite.<name>`` is ``function(request)``."""
    state = config.registry[STATE]
    setattr(state, name, LazyAttribute(name, function))


def check_name(event: ApplicationCreated) -> None:
    """At start-up: reject a host's own ``request.authsite``, which would replace ours."""
    registry = event.app.registry
    if registry["authsite.http"].standalone:
        return
    request = pyramid_request.Request.blank("/")
    request.registry = registry
    pyramid_request.apply_request_extensions(request)
    if not isinstance(request.authsite, registry[STATE]):
        raise ConfigurationError(
            "the application adds its own request.authsite, which is the one name that authsite"
            " needs on a request; give it another name"
        )


def freeze_request_class(config: "Configurator") -> None:
    """Move all request methods and properties registered so far onto one request class.

    Pyramid creates a class for each request, with the request methods and properties that packages
    have added. In the stand-alone application nothing is added after start-up, so one class serves
    all.
    """
    config.commit()
    extensions = config.registry.queryUtility(IRequestExtensions)
    members = {**extensions.methods, **extensions.descriptors}
    request_class = type("AuthsiteRequest", (pyramid_request.Request,), members)
    extensions.methods.clear()
    extensions.descriptors.clear()
    config.set_request_factory(request_class)


def includeme(config: "Configurator") -> None:
    """Add ``request.authsite`` and ``config.add_request_attribute``."""
    services = config.registry["authsite"]
    state: Any = type("ApplicationRequestState", (RequestState,), {})
    state.services, state.settings = services, services.settings
    state.database = services.database
    config.registry[STATE] = state
    config.add_directive("add_request_attribute", add_request_attribute, action_wrap=False)
    config.add_request_method(state, "authsite", reify=True)
    config.add_subscriber(check_name, ApplicationCreated)
