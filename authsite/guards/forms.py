"""Forms of pages: read strictly, checked against forgery, and shown again with their mistakes.

A view states ``form=Model, again=show``: it runs only with a good form at ``request.given``.
Otherwise, and when it raises an error of ours, ``show(request)`` is rendered with that error's
status, with what was typed (never a password) at ``request.typed`` and the mistakes at
``request.mistakes``.
"""

from typing import Any

from authsite.db.transaction import forget_writes, keep_writes
from authsite.http.bodies import validate, values_of
from authsite.http.errors import ApiError, FieldError

from . import csrf

SECRET_FIELDS = ("password", "password_confirmation", "current_password", "csrf_token", "token")
SHOWN_AGAIN = (400, 403, 409, 422, 429, 503)


def form_deriver(view: Any, info: Any) -> Any:
    """The view options ``form=Model, again=show``."""
    model = info.options.get("form")
    if model is None:
        return view
    again, renderer = info.options["again"], info.options["renderer"]

    def posting(context: Any, request: Any) -> Any:
        try:
            values = values_of(request, form_only=True)
            request.sent = values
            request.typed = {
                name: value for name, value in values.items() if name not in SECRET_FIELDS
            }
            csrf.check(request, values.get("csrf_token"))
            request.given = validate({k: v for k, v in values.items() if v != ""}, model)
            return view(context, request)
        except ApiError as error:
            if error.status not in SHOWN_AGAIN:
                raise
            # The error ends here, so what its transaction must not keep is dropped here too.
            (keep_writes if error.keeps_writes else forget_writes)(request)
            request.mistakes = error.details or [FieldError(error.code, None, error.message)]
            # A mistake in what was typed is 422 here, whatever the API calls it.
            mistake = error.status == 400 and error.details
            request.response.status_int = 422 if mistake else error.status
            request.response.headers.update(error.headers)
            return renderer.render_to_response(again(request), None, request=request)

    return posting


form_deriver.options = ("form", "again")  # type: ignore[attr-defined]
