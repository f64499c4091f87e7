"""The account page: every form of it posts to a path of its own and comes back here."""

from uuid import UUID

from pyramid.view import view_config

from authsite import clock
from authsite.guards import cookies
from authsite.http.bodies import Body, Email, MaybeEmpty, Password
from authsite.http.errors import FieldError, ValidationFailed
from authsite.http.rendering import home_path, see_other
from authsite.login.check import current_password
from authsite.login.identifiers import InvalidIdentifier
from authsite.oauth import signins
from authsite.users import agents
from authsite.verification import service as verification

from . import service
from .api import Name
from .errors import UnknownSignIn

ACCOUNT = "authsite:templates/users/account.jinja2"


class Form(Body):
    """A form without fields."""

    csrf_token: str | None = None


class ProfileForm(Form):
    """The profile."""

    name: MaybeEmpty | None = None
    username: Name | None = None
    phone: Name | None = None


class EmailForm(Form):
    """Another address."""

    email: Email
    current_password: Password


class PasswordForm(Form):
    """Another password."""

    current_password: Password
    password: Password


class DeleteForm(Form):
    """The end."""

    current_password: Password


def account(request):
    """Everything the page shows: the user as they are now, and where they are signed in."""
    caller = request.caller
    user = caller.acting_user()
    pending = verification.pending_email(request.reading, user.id)
    found = signins.listing(request.reading, clock.now(), user.id, caller.session_id)
    route = request.matched_route.name.removeprefix("authsite.account").lstrip(".")
    return {"user": user, "pending_email": pending, "sessions": found, "which": route or None,
            "program": agents.describe, "done": request.GET.get("done")}  # fmt: skip


@view_config(route_name="authsite.account", request_method="GET", renderer=ACCOUNT)
def show(request):
    """The account page."""
    return account(request)


@view_config(
    route_name="authsite.account.profile",
    request_method="POST",
    form=ProfileForm,
    again=account,
    renderer=ACCOUNT,
)
def change_profile(request):
    """Name, username and phone number; an emptied field takes its value away."""
    given, cfg = request.given, request.cfg
    wanted = {kind: getattr(given, kind) or "" for kind in ("username", "phone")
              if kind in cfg.login_identifiers}  # fmt: skip
    service.change_profile(
        request.db, cfg, clock.now(), request.source, request.caller.acting_user(),
        given.name or "", wanted,
    )  # fmt: skip
    return _back(request, "profile")


@view_config(
    route_name="authsite.account.email",
    request_method="POST",
    form=EmailForm,
    again=account,
    throttle="verification",
    renderer=ACCOUNT,
)
def change_email(request):
    """Ask for another address."""
    current_password(
        request.database, request.passwords, request.caller.user, request.given.current_password
    )
    page_url = verification.page_urls(request.cfg, request.base_url)[0]
    try:
        verification.ask_for_change(
            request.db, request.cfg, clock.now(), request.source, request.caller.user.id,
            request.given.email, page_url,
        )  # fmt: skip
    except InvalidIdentifier as error:
        raise ValidationFailed(details=[FieldError(error.code, "email", error.message)]) from None
    return _back(request, "email")


@view_config(
    route_name="authsite.account.email.resend",
    request_method="POST",
    form=Form,
    again=account,
    throttle="verification",
    renderer=ACCOUNT,
)
def resend(request):
    """Mail the link once more, to the address that waits for its proof."""
    user = request.caller.acting_user()
    address = verification.pending_email(request.db, user.id) or user.email
    if address != user.email or not user.confirmed:
        page_url = verification.page_urls(request.cfg, request.base_url)[0]
        verification.ask(
            request.db, request.cfg, clock.now(), request.source, user.id, address, page_url
        )
    return _back(request, "resend")


@view_config(
    route_name="authsite.account.password",
    request_method="POST",
    form=PasswordForm,
    again=account,
    renderer=ACCOUNT,
)
def change_password(request):
    """Another password; every other place is signed out."""
    given, caller = request.given, request.caller
    service.change_password(
        request.db, request.database, request.cfg, request.passwords, clock.now(),
        request.source, caller.acting_user(), given.current_password, given.password,
        session_id=caller.session_id,
    )  # fmt: skip
    return _back(request, "password")


@view_config(
    route_name="authsite.account.sessions.end",
    request_method="POST",
    form=Form,
    again=account,
    renderer=ACCOUNT,
)
def end_one(request):
    """Sign out in one place; in this one, that is signing out."""
    caller = request.caller
    try:
        wanted = UUID(request.matchdict["id"])
    except ValueError:
        raise UnknownSignIn from None
    signins.end(request.db, clock.now(), request.source, caller.user.id, wanted)
    if wanted == caller.session_id:
        cookies.clear_session(request, request.response)
        return see_other(request, home_path(request))
    return _back(request, "sessions")


@view_config(
    route_name="authsite.account.sessions.end_others",
    request_method="POST",
    form=Form,
    again=account,
    renderer=ACCOUNT,
)
def end_others(request):
    """Sign out everywhere else."""
    caller = request.caller
    service.end_others(
        request.db, clock.now(), request.source, caller.acting_user(),
        session_id=caller.session_id,
    )  # fmt: skip
    return _back(request, "sessions")


@view_config(
    route_name="authsite.account.delete",
    request_method="POST",
    form=DeleteForm,
    again=account,
    renderer=ACCOUNT,
)
def delete(request):
    """Delete the account for good."""
    service.delete(
        request.db, request.database, request.passwords, clock.now(), request.source,
        request.caller.acting_user(), request.given.current_password,
    )  # fmt: skip
    cookies.clear_session(request, request.response)
    return see_other(request, f"{home_path(request)}?done=deleted")


def _back(request, done):
    return see_other(request, f"{request.route_path('authsite.account')}?done={done}")
