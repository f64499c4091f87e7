"""Codes are deleted a day after their end; what came from them stays."""

from datetime import timedelta

from authsite.oauth.codes.service import purge
from tests.support.codes import application, code_of, codes, redeem

DAY = timedelta(hours=24).total_seconds()


def purged(site, now):
    with site.database.autocommit.connect() as connection:
        return sum(batch.deleted for batch in purge(connection, now, site.cfg))


def test_a_code_is_deleted_a_day_after_its_end(frozen, site):
    app = application(site)
    redeem(site, app, code_of(site, app))
    code_of(site, app)
    frozen.advance(60 + DAY - 1)
    purged(site, frozen.at)
    assert len(codes(site)) == 2
    frozen.advance(1)
    purged(site, frozen.at)
    assert codes(site) == []
    assert len(site.families()) == 1
