"""The cookie of a browser in which an account has just been registered.

A browser that has registered an account, and then confirms its address, is signed in: it knows the
password and reads the mail. The cookie is bound to user, epoch and address. For a taken address it
names a user who does not exist, so it does not reveal whether an account was created. Anywhere but
in the page of the mailed link it opens nothing.
"""

import uuid
from datetime import timedelta

from authsite.platform.crypto.sealed import SealedFormat
from authsite.platform.http import cookies
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.users.models import User

LIFETIME = timedelta(hours=1)
PURPOSE = "registered browser"

_FORMAT = SealedFormat("16sI")  # user and epoch; bound to the address


def keep_registered(request: Request, user: User | None, email: str) -> None:
    """Set the cookie for the new ``user``, or for the taken address ``email``."""
    address = user.email if user else email
    user_id, epoch = (user.id, user.epoch) if user else (uuid.uuid4(), 0)
    expires = int((clock.now() + LIFETIME).timestamp())
    ring = request.authsite.services.keys[PURPOSE]
    sealed = _FORMAT.seal(ring, user_id.bytes, epoch, expires=expires, bound=address.encode())
    _write(request, sealed, int(LIFETIME.total_seconds()))


def is_registered_here(request: Request, user: User) -> bool:
    """Whether this browser has registered ``user`` with the present address, within the hour."""
    value = cookies.read(request, cookies.host_name(request, cookies.REGISTERED))
    if not value:
        return False
    ring, address = request.authsite.services.keys[PURPOSE], user.email.encode()
    fields = _FORMAT.unseal(ring, value, clock.now(), bound=address)
    return fields is not None and fields[:2] == (user.id.bytes, user.epoch)


def forget_registered(request: Request) -> None:
    """Delete the cookie."""
    _write(request, "", 0)


def _write(request: Request, value: str, max_age: int) -> None:
    name = cookies.host_name(request, cookies.REGISTERED)
    cookies.write(request, request.response, cookies.Cookie(name, value, max_age))
