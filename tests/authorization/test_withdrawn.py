"""A consent that is withdrawn, or a user or client that is deleted, while the code is stored."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import delete

from authsite.oauth.codes.models import AuthorizationCode
from authsite.oauth.consents import service as consents
from authsite.oauth.models import Client
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.authorizing import (
    answer_of,
    application,
    asks_consent,
    authorize,
    code_for,
    leads_to,
)

pytestmark = pytest.mark.both_databases(each_value=True)


def during(site, change, **asked):
    """The answer to a request that has read what the transaction of ``change(ctx)`` replaces."""
    with ThreadPoolExecutor(1) as pool:
        with site.db() as db:
            change(acting(db, site.app.registry["authsite"]))
            db.flush()
            running = pool.submit(authorize, site, **asked)
            time.sleep(0.7)  # the request now waits for the locks of this transaction
        return running.result()


def codes(site):
    with site.db() as db:
        return db.query(AuthorizationCode).count()


@pytest.mark.parametrize("silent", [True, False])
def test_a_consent_withdrawn_at_this_moment_is_asked_for(issuer, app, ann, silent):
    code_for(issuer, app)
    prompt = {"prompt": "none"} if silent else {}
    answer = during(issuer, lambda ctx: consents.withdraw(ctx, ann.id, app.id), app=app, **prompt)
    assert codes(issuer) == 0
    if leads_again(answer):
        answer = issuer.http.get(answer.location, status="*")
    if silent:
        assert answer_of(answer)["error"] == "consent_required"
    else:
        assert asks_consent(answer)


@pytest.mark.parametrize("what", [User, Client])
@pytest.mark.parametrize("first_party", [True, False])
def test_a_user_or_client_deleted_at_this_moment(issuer, ann, what, first_party):
    app = application(issuer, first_party=first_party)
    code_for(issuer, app)
    row_id = ann.id if what is User else app.id
    answer = during(
        issuer, lambda ctx: ctx.db.execute(delete(what).where(what.id == row_id)), app=app
    )
    if leads_again(answer):
        answer = issuer.http.get(answer.location, status="*")
    if what is User:
        assert leads_to(answer) == "/login"
    else:
        assert answer.status_int == 400
        assert "not registered" in answer.text


def leads_again(answer):
    return answer.status_int == 302 and "/oauth/authorize" in answer.location
