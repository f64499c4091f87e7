"""The pages and forms of passkeys on the account pages."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field
from pyramid.response import Response

from authsite.account.passkeys import service
from authsite.platform.http.bodies import Body, Flag, Missing
from authsite.platform.http.forms import form_view
from authsite.platform.http.rendering import found, page_path
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.platform.runtime.ids import as_id
from authsite.sign_in.factors.names import PASSKEY
from authsite.sign_in.methods.passkeys import changes
from authsite.sign_in.methods.passkeys.credentials import MAX_SIZE
from authsite.sign_in.methods.passkeys.names import MAX_NAME
from authsite.sign_in.reauthentication import ProofFields
from authsite.users.account_pages import account_form, back
from authsite.users.caller import caller_of

from .pages import ADD, ProofForm, adding, after_adding, ends_others, mail_code, show_as

PASSKEYS = "authsite.account.factors.passkeys"


class PasskeyForm(Body):
    """A new passkey, which the page's script has made; see `ConfirmForm` about ``asked``."""

    credential: Annotated[
        str, Field(min_length=1, max_length=MAX_SIZE), Missing(_("Passkeys need JavaScript."))
    ]
    name: Annotated[str, Field(max_length=MAX_NAME)] | None = None
    asked: Flag | None = None
    end_others: Flag | None = None


class NameForm(Body):
    """The name of a passkey."""

    name: Annotated[
        str, Field(min_length=1, max_length=MAX_NAME), Missing(_("Enter a name for the passkey."))
    ]


passkey_page = partial(adding, kind=PASSKEY)


def to_passkeys(request: Request) -> Response:
    """Redirect the path of a form to its page."""
    return found(request, page_path(request, PASSKEYS.removeprefix("authsite.")))


@form_view(PASSKEYS, ProofForm, show=passkey_page, renderer=ADD)
def begin_passkey(request: Request) -> dict[str, Any]:
    """Check the proof, and show the button with which the browser makes a passkey."""
    given = ProofFields.of(request.authsite.validated)
    user = caller_of(request).signed_in_user()
    options = service.begin(request.authsite.ctx, user, given)
    return {**passkey_page(request), "passkey_options": options}


@form_view(f"{PASSKEYS}.mail", ProofForm, show=passkey_page, get=to_passkeys, renderer=ADD)
def mail_for_passkey(request: Request) -> dict[str, Any]:
    """Mail the code that the page asks for."""
    mail_code(request)
    return {**passkey_page(request), "code_sent": True}


@form_view(f"{PASSKEYS}.add", PasskeyForm, show=passkey_page, get=to_passkeys, renderer=ADD)
def add_passkey(request: Request) -> Response:
    """Store the passkey; the recovery codes that are made with a first factor are shown."""
    given: PasskeyForm = request.authsite.validated
    user = caller_of(request).signed_in_user()
    _row, changed = service.add(
        request.authsite.ctx,
        user,
        given.credential,
        given.name,
        ends_others(given),
    )
    return after_adding(request, changed, "passkey")


@account_form(f"{PASSKEYS}.rename", NameForm, show=show_as("passkey-name-{id}"))
def rename_passkey(request: Request) -> Response:
    """Give a passkey another name."""
    user_id = caller_of(request).acting_user().id
    wanted, name = as_id(request.matchdict["id"]), request.authsite.validated.name
    changes.rename(request.authsite.ctx, user_id, wanted, name)
    return back(request, "passkey-renamed")


@account_form(f"{PASSKEYS}.remove", ProofForm, show=show_as("passkey-remove-{id}"))
def remove_passkey(request: Request) -> Response:
    """Remove a passkey."""
    user, wanted = caller_of(request).signed_in_user(), as_id(request.matchdict["id"])
    service.remove(request.authsite.ctx, user, wanted, ProofFields.of(request.authsite.validated))
    return back(request, "passkey-removed")
