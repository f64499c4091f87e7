"""A browser session that begins with a factor that was added at the sign-in."""

from collections.abc import Mapping
from typing import NamedTuple

from authsite.platform.context import Context
from authsite.sign_in import gate
from authsite.sign_in.gate import Complete
from authsite.sign_in.method import Pending, Wrong
from authsite.sign_in.sessions import service as sessions
from authsite.sign_in.sessions.service import BegunSession

from . import enrolling
from .enrolling import Enrolled
from .names import TOTP


class BegunWithCodes(NamedTuple):
    """The session that has begun, and the recovery codes if they were made; they are shown once."""

    begun: BegunSession
    recovery_codes: tuple[str, ...] | None


def resume(
    ctx: Context,
    pending: Pending,
    method: str,
    given: Mapping[str, str],
    *,
    former_key: str | None,
) -> BegunWithCodes | Pending | Wrong:
    """Add a factor, and begin the session. Raises as `sessions.resume`, and what storing raises."""
    done = gate.resume(ctx, pending.key, method, given)
    if not isinstance(done, Complete):
        return done
    enrolled = _store(ctx, pending, done, method, given)
    begun = sessions.enter(ctx, enrolled.done, former_key=former_key)
    if begun is None:
        raise gate.PendingEnded
    return BegunWithCodes(begun, enrolled.recovery_codes)


def _store(
    ctx: Context, pending: Pending, done: Complete, method: str, given: Mapping[str, str]
) -> Enrolled:
    store = enrolling.store_totp if method == TOTP else enrolling.store_passkey
    return store(ctx, pending, done, given)
