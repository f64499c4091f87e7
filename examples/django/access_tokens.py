"""Access tokens of authsite for Django REST framework."""

import os

from django.contrib.auth.models import User
from django.http import HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated

from authsite_client import MissingToken, VerificationError, Verifier

verifier = Verifier(
    os.environ.get("AUTH_URL", "http://localhost:6543"),
    os.environ["AUTH_CLIENT_ID"],
    os.environ["AUTH_CLIENT_SECRET"],
)


class AccessToken(BaseAuthentication):
    """``request.user`` is found by the user's id at authsite, and never by an e-mail address."""

    def authenticate(self, request):
        authorization = request.headers.get("Authorization")
        if authorization is None:
            return None  # no caller: the permission classes of the view decide
        identity = verifier.verify_header(authorization)
        user, _ = User.objects.get_or_create(username=identity.require_user())
        if not user.is_active:
            raise AuthenticationFailed("This user is disabled.")
        return user, identity  # request.user and request.auth

    def authenticate_header(self, request):
        return MissingToken.challenge


class MayWrite(IsAuthenticated):
    """A method that changes something needs the scope ``notes:write``."""

    def has_permission(self, request, view):
        if not super().has_permission(request, view):
            return False
        if request.method not in SAFE_METHODS:
            request.auth.require("notes:write")
        return True


def denied(error, context):
    """The response of RFC 6750, also without a token."""
    from rest_framework.views import exception_handler  # which imports the class above

    if isinstance(error, NotAuthenticated):
        error = MissingToken()
    if isinstance(error, VerificationError):
        return HttpResponse(error.body, status=error.status, headers=dict(error.headers))
    return exception_handler(error, context)
