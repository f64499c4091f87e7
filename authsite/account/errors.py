"""What can go wrong with an account's places."""

from authsite.http.errors import NotFound
from authsite.texts import text as _


class UnknownSignIn(NotFound):
    """No place of this user has this id: it has ended, or is somebody else's."""

    message = _("You are not signed in there (any more). Ask for the list again.")
