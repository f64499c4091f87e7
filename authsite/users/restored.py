"""What a restored backup must not bring back of users."""

from typing import Any, cast

from sqlalchemy import CursorResult, update
from sqlalchemy.orm import Session

from authsite.platform.runtime import clock

from . import pending
from .models import User

RESTORE_STEP = 1_000_000  # the columns are integers of 32 bits: enough for 2000 restores


def end_all_sign_ins(db: Session) -> int:
    """End every token, session, pending change, reset link and link "This was not me" of all users.

    Returns the number of users.

    No browser or address is recognized any more. For a restored backup: the counters grow by more
    than they can have grown since the backup. Otherwise a link that was sealed and used in that
    time could become valid again, and a browser that was forgotten could be recognized again.
    """
    ended = db.execute(
        update(User)
        .values(
            epoch=User.epoch + RESTORE_STEP,
            recovery_version=User.recovery_version + RESTORE_STEP,
            recognition_version=User.recognition_version + RESTORE_STEP,
            links_ended_at=clock.now(),
            **pending.NONE,
        )
        .execution_options(synchronize_session=False)
    )
    return cast(CursorResult[Any], ended).rowcount
