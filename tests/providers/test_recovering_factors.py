"""*Reset and connect* at an account with a second factor: the sign-in sees what the reset left."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from authsite.platform.runtime import clock
from authsite.users.models import User
from tests.factor_pages.people import add_app
from tests.providers.people import arrive, identities, send, signed_in_as
from tests.support.factors import add_passkey, left

from .test_new_identity import heading, mailed_link

ANN = "ann@gmail.com"
pytestmark = pytest.mark.both_databases


def aged(site, user, days):
    """All factors of the user have been there for so long."""
    since = clock.now() - timedelta(days=days)
    with site.db() as db:
        db.execute(update(User).where(User.id == user.id).values(factors_since=since))


def reset_and_connect(site, fake):
    """By the mailed link; the answer of the last form."""
    assert heading(send(arrive(site, fake), "/mail").follow()) == "Check your e-mail"
    return send(site.http.get(mailed_link(site)), "/recover")


@pytest.mark.parametrize("add", [add_app, add_passkey])
def test_a_young_factor_goes_and_the_person_is_signed_in(site_of, google, add):
    site = site_of(google)
    user = site.user(ANN, confirmed=True)
    add(site, user)
    site.mails()
    answer = reset_and_connect(site, google)
    assert (answer.status_int, answer.location) == (303, "http://localhost/account")
    assert ANN in signed_in_as(site)
    assert [each.user_id for each in identities(site)] == [user.id]
    assert set(left(site, user).values()) == {0}


def test_a_factor_that_stays_is_asked_for(site_of, google):
    site = site_of(google)
    user = site.user(ANN, confirmed=True)
    phone, _codes = add_app(site, user)
    aged(site, user, 8)
    site.mails()
    answer = reset_and_connect(site, google)
    assert answer.location.endswith("/login/factor")
    page = answer.follow()
    assert signed_in_as(site) is None
    send(page, "/login/factor", code=phone.code())
    assert ANN in signed_in_as(site)


def test_where_a_factor_is_required_a_new_one_follows(site_of, google):
    """Not a code of the one that has just been removed."""
    site = site_of(google, second_factor="required")
    user = site.user(ANN, confirmed=True)
    add_app(site, user)
    site.mails()
    answer = reset_and_connect(site, google)
    assert answer.location.endswith("/login/factor")
    page = answer.follow()
    methods = {each.get("value") for each in page.html.select("input[name=method]")}
    assert "recovery_code" not in page.text
    assert methods in ({"email"}, {"totp"})
    assert "authenticator app shows" not in page.html.main.get_text()
