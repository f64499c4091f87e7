"""The cookie with which the next page says that a change of address can still be taken back.

A login and a reset set it. A person who uses an account should know that its former address can
still take it back (account pre-hijacking, see `authsite.users.former`).
"""

from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from authsite.platform.addresses import masked
from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users import former

PURPOSE = "undo notice"

_FORMAT = SealedFormat("255p")  # as in `known_address`


class UndoNotice(NamedTuple):
    """The former address, shown in part, and until when it can take the change back."""

    address: str
    expires_at: datetime


def announce(request: Request, user_id: UUID) -> None:
    """Make the next page say it, if a change of the user's address can be taken back."""
    found = former.find_restorable(request.authsite.database, user_id)
    if found is None:
        return
    ring, expires = request.authsite.services.keys[PURPOSE], int(found.expires_at.timestamp())
    sealed = _FORMAT.seal(ring, masked(found.email).encode(), expires=expires)
    _write(request, request.response, sealed, expires - int(clock.now().timestamp()))


def undo_notice(request: Request) -> UndoNotice | None:
    """``request.authsite.undo_notice``: what the page has to say, once."""
    value = cookies.read(request, cookies.host_name(request, cookies.UNDO))
    if not value:
        return None
    request.add_response_callback(lambda request, response: _write(request, response, "", 0))
    values = _FORMAT.unseal(request.authsite.services.keys[PURPOSE], value, clock.now())
    if values is None:
        return None
    address, expires = values
    return UndoNotice(address.decode(), datetime.fromtimestamp(expires, UTC))


def _write(request: Request, response: object, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.UNDO)
    cookies.write(request, response, cookies.Cookie(name, value, max_age))
