"""What a restored backup must not accept again."""

from sqlalchemy import BigInteger, literal, update
from sqlalchemy.orm import Session

from authsite.platform.runtime import clock

from .models import TotpFactor


def spend_present_steps(db: Session) -> None:
    """Spend the codes of all authenticator apps that would be accepted now.

    A code is accepted one step early or late (RFC 6238, 5.2), and a backup does not know which
    were used since it was made.
    """
    now = literal(int(clock.now().timestamp()), BigInteger)
    newest = now // TotpFactor.period + 1
    db.execute(
        update(TotpFactor)
        .where(TotpFactor.last_step < newest)
        .values(last_step=newest)
        .execution_options(synchronize_session=False)
    )
