"""Identities of users at other providers, as rows."""

import uuid

from authsite.platform.runtime import clock
from authsite.users.identities import Identity


def linked(db, user_id, *, provider="google", email="ann@gmail.com", trusted=True, **more):
    """A new identity of the user."""
    values = {"issuer": f"https://{provider}.example", "subject": uuid.uuid4().hex, **more}
    row = Identity(
        id=uuid.uuid4(), user_id=user_id, provider=provider, email=email, trusted=trusted,
        created_at=clock.now(), **values,
    )  # fmt: skip
    db.add(row)
    db.flush()
    return row
