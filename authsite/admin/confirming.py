"""Confirming pages: each action of the console has one.

GET shows what the action does and who is told; POST acts, and redirects::

    def ask(request):
        user = find(request)  # raises UnknownObject; require_rank(…) where the action needs it
        return Confirmation(
            title=_("Disable ${user}?", mapping={"user": user.email}),
            effects=[_("All sign-ins of this user end now.")],
            notices=[_("The user gets an e-mail.")],
            button=_("Disable"),
            back=route_path(request, "authsite.admin.users.user", id=user.id),
            reason="required",
            dangerous=True,
        )

    @confirming("authsite.admin.users.disable", RequiredReason, ask=ask, admin="users:write")
    def disable(request):
        given: RequiredReason = request.authsite.validated
        actions.disable(request.authsite.ctx, administrator_of(request), …, given.reason)
        return done(request, back, "disabled")

With ``recent=True`` (★) both GET and POST need a proof of the last ten minutes. A form that is sent
later is kept while the user proves again (`form_cookie`), and the page shows it filled in.

Further fields: a subclass of `OptionalReason` or `RequiredReason` has them, ``fields`` names the
template that shows them (with the macros of forms.jinja2), and ``values`` is what it reads. An
`ApiError` of the view is shown on the page. The view may also answer with a page in place of the
redirect, for a secret that is shown once: ``request.response.text = render_page(…)``.

The pages extend admin/layout.jinja2; admin/lists.jinja2 has the macros of lists, tables and facts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import BeforeValidator, Field, StringConstraints
from pyramid.response import Response

from authsite.platform.audit.service import MAX_REASON
from authsite.platform.http.bodies import Body, JsonBody, Judge, MaybeEmpty, Missing
from authsite.platform.http.forms import PageView, form_view
from authsite.platform.http.rendering import see_other
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

from .judges import of_reason

PAGE = "authsite:templates/admin/confirm.jinja2"
NO_NOTICE = _("No e-mail is sent.")


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


class OptionalReason(Body):
    """The form of an action that may have a reason."""

    reason: (
        Annotated[str, BeforeValidator(_stripped), StringConstraints(max_length=MAX_REASON)] | None
    ) = None


class RequiredReason(Body):
    """The form of an action that needs a reason."""

    reason: Annotated[
        str,
        BeforeValidator(_stripped),
        StringConstraints(min_length=1, max_length=MAX_REASON),
        Missing(_("Say why. The reason is kept in the audit trail.")),
    ]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a confirming page says. The texts are messages of `authsite.platform.i18n`."""

    title: str
    """The action and its object, as a question."""
    effects: Sequence[str]
    """What happens, sentence by sentence."""
    button: str
    back: str
    """The path that *Cancel* leads to."""
    notices: Sequence[str] = (NO_NOTICE,)
    """Who is told, sentence by sentence."""
    reason: Literal["optional", "required", "none"] = "optional"
    dangerous: bool = False
    fields: str | None = None
    """The template of further fields."""
    names: Sequence[str] = ()
    """The names of these fields in their order, for the links of the error summary."""
    values: Mapping[str, Any] = field(default_factory=dict)


Ask = Callable[[Request], Confirmation]


def confirming(
    route_name: str,
    form: type[Body] = OptionalReason,
    *,
    ask: Ask,
    admin: str,
    recent: bool = False,
    others: Judge | None = None,
    **options: Any,
) -> Callable[[PageView], PageView]:
    """Return a decorator for the POST view of a confirming page; it registers GET and POST.

    ``ask`` returns what the page says; ``admin`` and ``recent`` are the options of
    `authsite.admin.guard`; ``options`` those of `form_view`. ``others`` says what is wrong with
    the fields, the reason included, of a form that is refused already (`bodies.Judge`); a form
    with a reason alone needs none.
    """

    def show(request: Request) -> dict[str, Any]:
        asked = ask(request)
        return {**asked.values, "asked": asked, "max_reason": MAX_REASON}

    return form_view(
        route_name,
        form,
        show=show,
        renderer=PAGE,
        admin=admin,
        recent=recent,
        confirming=True,
        judge=others or of_reason(ask),
        **options,
    )


def done(request: Request, path: str, what: str) -> Response:
    """Redirect to ``path``, whose page says ``what`` was done (macro `done` of admin/lists)."""
    return see_other(request, f"{path}?{urlencode({'done': what})}")


# The body of an action: the reason.


EXAMPLE = "asked for by phone, called back"


class ReasonBody(JsonBody):
    description = "The reason. Some actions need one."

    reason: Annotated[MaybeEmpty | None, Field(examples=[EXAMPLE])] = None
    """Why, for the audit trail: one line, at most 200 characters."""
