"""Rotating a client's secret while it is rotated elsewhere (the class of finding H1)."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from sqlalchemy.orm import Session

from authsite.oauth.clients import service
from authsite.oauth.models import Client
from tests.support.acting import acting
from tests.support.locks import until_blocked


def test_two_rotations_at_once_leave_no_secret_from_before_both(site):
    keys = site.client()
    client_id = UUID(keys.client_id)
    user = site.user()

    def rotate(db, client):
        return service.rotate_secret(acting(db), client)

    with Session(site.database.autocommit, expire_on_commit=False) as reading:
        seen = reading.get(Client, client_id)
        reading.expunge(seen)

    def second():
        with site.db() as db:
            return rotate(db, db.merge(seen, load=False))

    with ThreadPoolExecutor(1) as pool:
        with site.db() as db:
            first_secret = rotate(db, db.get(Client, client_id))
            with until_blocked(site.database):
                waiting = pool.submit(second)
        second_secret = waiting.result()
    for secret, status in ((keys.client_secret, 401), (first_secret, 200), (second_secret, 200)):
        given = type(keys)(keys.client_id, secret)
        site.login(given, user.email, status=status)
