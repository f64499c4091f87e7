"""What is wrong with the other fields of a refused request of the account: see `bodies.Judge`."""

from collections.abc import Sequence
from typing import Any

from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request
from authsite.sign_in.reauthentication import ProofFields, missing_fields
from authsite.users.caller import caller_of
from authsite.verification import email_change

from . import service


def profile(request: Request, given: Any) -> Sequence[FieldError]:
    """For the name and the login names."""
    names = {"username": given.username, "phone": given.phone}
    return service.profile_errors(request.authsite.ctx, given.name, names)


def email(request: Request, given: Any) -> Sequence[FieldError]:
    """For a change of the address; the form of the page has no ``verification_url``."""
    page_url = getattr(given, "verification_url", None)
    user, proof = caller_of(request).signed_in_user(), ProofFields.of(given)
    return email_change.change_errors(request.authsite.ctx, user, proof, given.email, page_url)


def password(request: Request, given: Any) -> Sequence[FieldError]:
    """For a change of the password."""
    user, proof = caller_of(request).signed_in_user(), ProofFields.of(given)
    return service.password_errors(request.authsite.ctx, user, proof, given.password)


def factors(request: Request, given: Any) -> Sequence[FieldError]:
    """For a change of the factors."""
    user, proof = caller_of(request).signed_in_user(), ProofFields.of(given)
    return missing_fields(request.authsite.ctx, user, proof, of_factors=True)
