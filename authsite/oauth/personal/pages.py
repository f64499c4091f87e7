"""The section of the account pages for personal access tokens, and its forms."""

from collections.abc import Sequence
from typing import Any

from pyramid.response import Response

from authsite.oauth.tokens.families import list_personal
from authsite.platform.http.bodies import Body, CurrentPassword, MailCode
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.account_pages import account_form, back, show
from authsite.users.caller import caller_of
from authsite.users.groups import group_scopes
from authsite.users.groups.group_scopes import Holder

from . import service
from .api import Lifetime, Name
from .service import UnknownToken


class TokenForm(Body):
    """A new token. Each scope is a separate field, ``scope:<name>``."""

    name: Name
    expires_in: Lifetime | None = None
    current_password: CurrentPassword = None
    mail_code: MailCode = None


def values(request: Request) -> dict[str, Any]:
    """The active tokens; ``new_token`` is the text of one that was just created."""
    ctx, user_id = request.authsite.ctx, caller_of(request).acting_user().id
    asked = " ".join(ctx.settings.personal_token_scopes)
    scopes = group_scopes.held(ctx, Holder(user_id), asked).split()
    found = list_personal(ctx, user_id)
    return {"tokens": found, "new_token": None, "token_scopes": scopes}


def judge(request: Request, given: Any) -> Sequence[FieldError]:
    """What is wrong with the other fields of a refused form: see `bodies.Judge`."""
    requested = service.RequestedToken(given.name or "", None, given.expires_in)
    user, proof = caller_of(request).signed_in_user(), ProofFields.of(given)
    found: Sequence[FieldError] = service.token_errors(
        request.authsite.ctx, user, proof, requested, ()
    )
    return found


@account_form("authsite.account.tokens", TokenForm, judge=judge)
def create(request: Request) -> dict[str, Any]:
    """Create a token; the response to the form itself shows it, and no other page does."""
    given: TokenForm = request.authsite.validated
    allowed = request.authsite.settings.personal_token_scopes
    chosen = [scope for scope in allowed if request.authsite.raw_form.get(f"scope:{scope}")]
    _made, text = service.create(
        request.authsite.ctx,
        caller_of(request).signed_in_user(),
        ProofFields.of(given),
        service.RequestedToken(given.name, " ".join(chosen), given.expires_in),
        allowed,
    )
    request.authsite.form_data = {}  # the form is empty again
    return {**show(request), "which": None, "new_token": text}


@account_form("authsite.account.tokens.revoke")
def revoke(request: Request) -> Response:
    """Revoke one token; one that is gone already is revoked, too."""
    wanted = as_id(request.matchdict["id"])
    if wanted is None:
        raise UnknownToken
    service.revoke(request.authsite.ctx, caller_of(request).acting_user().id, wanted)
    return back(request, "token")
