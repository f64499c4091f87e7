"""What is asked of a user again, at every request for tokens."""

from uuid import UUID

import pytest

from authsite.groups import members
from authsite.groups import service as groups
from authsite.oauth.clients import service as clients
from authsite.oauth.models import Client
from authsite.platform.audit.service import Cause
from authsite.sign_in.gate import ACCOUNT_CONDITIONS, AccountCondition
from authsite.users.errors import UserRequired
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.codes import application, code_of, codes, redeem, session_of

CAUSE = Cause("command")


def change_user(site, **columns):
    with site.db() as db:
        user = db.get(User, session_of(site).user_id)
        for name, value in columns.items():
            setattr(user, name, value)


def refused(site, app, code, tokens):
    """Both requests for tokens are refused, and change nothing."""
    answer = redeem(site, app, code, "4*")
    assert "access_token" not in answer
    again = site.token(
        app, "4*", grant_type="refresh_token", refresh_token=tokens["refresh_token"]
    ).json
    assert "access_token" not in again
    assert not site.introspect(app, tokens["refresh_token"])["active"]
    assert codes(site)[-1].used_at is None
    return answer


def two(site, app):
    """Tokens, and a code that waits."""
    tokens = redeem(site, app, code_of(site, app))
    return code_of(site, app), tokens


def test_an_account_condition_is_checked_again(site):
    def deny(_ctx, _account):
        raise UserRequired

    app = application(site)
    code, tokens = two(site, app)
    conditions = ACCOUNT_CONDITIONS.of(site.app.registry["authsite"])
    conditions["test"] = AccountCondition(deny)
    refused(site, app, code, tokens)
    conditions.pop("test")
    redeem(site, app, code)
    site.refresh(app, tokens["refresh_token"])


def test_a_client_asks_for_a_confirmed_address(site):
    app, other = application(site), application(site, require_confirmed=False)
    code, tokens = two(site, app)
    known = session_of(site)
    with site.db() as db:
        verified = db.get(User, known.user_id).email_verified_at
    change_user(site, email_verified_at=None)
    assert refused(site, app, code, tokens)["error"] == "invalid_grant"
    redeem(site, other, code_of(site, other))
    change_user(site, email_verified_at=verified)
    redeem(site, app, code)


def test_a_client_asks_for_a_group(site):
    services = site.app.registry["authsite"]
    with site.db() as db:
        ctx = acting(db, services)
        groups.create(ctx, "ops", groups.GroupValues("Operations"), CAUSE)
    app = application(site)
    code, tokens = two(site, app)
    with site.db() as db:
        db.get(Client, UUID(app.client_id)).require_group = "ops"
    assert refused(site, app, code, tokens)["error"] == "invalid_grant"
    with site.db() as db:
        members.add(acting(db, services), "ops", session_of(site).user_id, CAUSE)
    redeem(site, app, code)
    site.refresh(app, tokens["refresh_token"])


@pytest.mark.both_databases
@pytest.mark.parametrize("what", ["client", "user"])
def test_a_code_ends_with_its_client_or_user(site, what):
    app = application(site)
    code = code_of(site, app)
    with site.db() as db:
        if what == "client":
            db.get(Client, UUID(app.client_id)).epoch += 1
        else:
            db.get(User, session_of(site).user_id).epoch += 1
    assert redeem(site, app, code, 400)["error"] == "invalid_grant"
    assert codes(site)[0].used_at is None


def test_a_disabled_client_redeems_nothing(site):
    app = application(site)
    code = code_of(site, app)
    with site.db() as db:
        clients.disable(acting(db), UUID(app.client_id))
    assert redeem(site, app, code, 401)["error"] == "invalid_client"
