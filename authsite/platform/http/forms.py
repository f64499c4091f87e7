"""Forms of pages: strict reading, the CSRF check, and the form again with its errors.

    @form_view("authsite.forgot.page", ForgotForm, show=forgot_form, renderer=FORGOT)
    def forgot(request): ...

GET shows the form: ``show(request)`` returns the template's values. POST runs the view, which finds
the validated form at ``request.authsite.validated``. If reading the form or the view raises an
`ApiError`, the template is rendered again with the values of ``show`` and the error's status. The
template then shows ``request.authsite.form_data`` (without secrets) and ``form_errors``. A POST
that only chooses a language (see ``http/languages.py``) shows the page again, without the view.

    @password_check("authsite.register.check", RegisterCheck)
    def check(request): return rating(request, password, person)

is what a page's script asks about a new password while it is typed: the same strict form, with JSON
as response, also for errors. Without the script, the form works as before.
"""

from collections.abc import Callable
from typing import Any

import venusian
from pyramid.interfaces import IViewDeriverInfo
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from authsite.platform.db.transaction import commit_and_begin, rollback_and_begin
from authsite.platform.i18n import translate
from authsite.platform.passwords import policy
from authsite.platform.request_state import Request, View, view_options

from .bodies import Body, Judge, judged, validate, values_of
from .errors import ERROR_OF_REQUEST, ApiError, FieldError
from .languages import keep_language
from .own_routes import is_own_view
from .request_facts import chosen_by_button

SECRET_FIELDS = ("password", "password_confirmation", "current_password", "csrf_token", "token")
OF_LINKS = frozenset(("token", "url"))  # fields with the link that a page was opened with
SHOWN_AGAIN = (400, 403, 409, 422, 429, 503)

PageView = Callable[[Request], Any]
Instead = Callable[[Request, ApiError], Response | None]


def form_view(
    route_name: str,
    form: type[Body] = Body,
    *,
    show: PageView,
    get: PageView | None = None,
    instead: Instead | None = None,
    judge: Judge | None = None,
    rate_limit: str | None = None,
    **options: Any,
) -> Callable[[PageView], PageView]:
    """Return a decorator for the POST view of a form; it registers GET and POST of a route.

    ``form`` is the model of the fields; a form without fields needs none. ``get`` is the view of
    GET where it does more than ``show``. ``instead`` may respond to an error in another way than by
    showing the form again; it returns None where it does not. ``judge``: see `bodies.Judge`.
    ``rate_limit`` names the limit that a POST counts against. ``options`` are those of
    ``view_config`` for both methods, such as ``renderer``.
    """
    options["route_name"] = route_name
    on_get = {**options, "view": get or show, "request_method": "GET"}
    on_post = {**options, "form": form, "show": show, "rate_limit": rate_limit}
    on_post |= {"instead": instead} if instead else {}
    on_post |= {"judge": judge} if judge else {}

    def register(view: PageView) -> PageView:
        def add(scanner: Any, _name: str, _view: object) -> None:
            config = scanner.config.with_package(info.module)
            config.add_view(**on_get)
            config.add_view(view, request_method="POST", **on_post)

        info = venusian.attach(view, add, category="pyramid")
        return view

    return register


def link_view(route_name: str, renderer: str) -> Callable[[PageView], PageView]:
    """Return a decorator for the view of a path that ends with the token of a mailed link."""
    register: Callable[[PageView], PageView] = view_config(
        route_name=route_name,
        request_method="GET",
        renderer=renderer,
        permission=NO_PERMISSION_REQUIRED,
    )
    return register


def password_check(
    route_name: str, form: type[Body], *limits: str, **options: Any
) -> Callable[[PageView], PageView]:
    """Return a decorator for the view that a page's script asks about a new password.

    It counts against the limit ``password-check``, and ``limits``. ``options`` are those of
    ``view_config``.
    """
    register: Callable[[PageView], PageView] = view_config(
        route_name=route_name,
        request_method="POST",
        form=form,
        rate_limit=("password-check", *limits),
        renderer="json",
        **options,
    )
    return register


def rating(request: Request, password: str, person: policy.Person) -> dict[str, Any]:
    """What `policy.rate` says, in the language of the page."""
    ctx = request.authsite.ctx
    found = policy.rate(ctx.settings, ctx.passwords, password, person)
    language = request.authsite.request_info.language
    return {"level": found.level, "message": translate(found.message, language)}


@view_options("form", "show", "instead", "judge")
def form_deriver(view: View, info: IViewDeriverInfo) -> View:
    """View deriver for ``form``, ``show``, ``instead`` and ``judge`` of a POST: see `form_view`.

    Without ``show`` errors are raised, and have a JSON body.
    """
    model = info.options.get("form")
    if model is None or not is_own_view(info):
        return view
    show, renderer = info.options.get("show"), info.options["renderer"]
    instead, judge = info.options.get("instead"), info.options.get("judge")

    def view_with_form(context: object, request: Request) -> Response:
        if show is None:
            request.authsite.error_format = "json"
        try:
            values = _read_form(request)
            if (language := chosen_by_button(request)) and show:
                keep_language(request, request.response, language)
                return rendered(request)
            try:
                request.authsite.validated = validate(values, model)
            except ApiError as error:
                raise judged(request, error, values, model, judge) from None
            return view(context, request)
        except ApiError as error:
            if show is None or not (error.shown_again or error.status in SHOWN_AGAIN):
                raise
            if error.forgets_form and not OF_LINKS.isdisjoint(model.model_fields):
                raise  # without the link the page would say that it does not work
            if instead and (response := instead(request, error)) is not None:
                return response
            request.authsite.record_denial(error)
            if error.forgets_form:
                request.authsite.raw_form = request.authsite.form_data = {}
            # pyramid_tm does not see an error that is handled here.
            end_transaction = commit_and_begin if error.keeps_writes else rollback_and_begin
            end_transaction(request)
            set_errors(request, error)
            return rendered(request)

    def rendered(request: Request) -> Response:
        values = show(request)
        if isinstance(values, Response):
            return request.response.merge_cookies(values)
        return renderer.render_to_response(values, None, request=request)

    return view_with_form


def _read_form(request: Request) -> dict[str, object]:
    """Read the form into ``request.authsite``; the fields that are not empty."""
    values = values_of(request, form_only=True)
    request.authsite.raw_form = values
    request.authsite.form_data = {
        name: value for name, value in values.items() if name not in SECRET_FIELDS
    }
    request.authsite.check_csrf(values.get("csrf_token"))
    return {name: value for name, value in values.items() if value != ""}


def set_errors(request: Request, error: ApiError) -> None:
    """Set the errors that the template shows, and the status and headers of the response."""
    request.environ[ERROR_OF_REQUEST] = error
    request.authsite.form_errors = error.details or [FieldError(error.code, None, error.message)]
    # OAuth errors about a field have status 400; a page uses 422 for every invalid field.
    invalid_field = error.status == 400 and error.details
    request.response.status_int = 422 if invalid_field else error.status
    request.response.headers.update(error.headers)
