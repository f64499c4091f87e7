"""What ends, exempts or finds a family, a user or a client is about that row alone."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import update

from authsite.oauth.errors import InvalidGrant
from authsite.oauth.models import Client, Family
from authsite.oauth.tokens import families
from authsite.oauth.tokens.active import ACTIVE_FAMILY, find_active, find_together
from authsite.oauth.tokens.format import Token
from authsite.oauth.tokens.issue import ClientRef, issue
from authsite.platform.runtime import clock
from authsite.sign_in.gate import without_proof
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.acting import acting
from tests.support.beside import BOTH, add_beside, changed, stored
from tests.support.site import bearer

GRACE = timedelta(seconds=30)


@pytest.fixture
def ann(site):
    """Ann at epoch 5, as are the users beside her."""
    made = site.user()
    with site.db() as db:
        db.execute(update(User).values(epoch=5))
        add_beside(db, db.get(User, made.id))
    return made


@pytest.fixture
def keys(site, ann):
    """The keys of a client at epoch 5, as are the clients beside it."""
    made = site.client()
    with site.db() as db:
        db.execute(update(Client).values(epoch=5))
        add_beside(db, db.get(Client, UUID(made.client_id)))
    return made


@pytest.fixture
def tokens(site, keys):
    """The tokens of a login by Ann."""
    return site.login(keys)


@pytest.fixture
def family(site, tokens):
    """The family of the login, with families beside it."""
    [made] = site.families()
    with site.db() as db:
        add_beside(db, made)
    return made


def change(site, act):
    """The ids of the families that ``act`` changes."""
    before = stored(site, Family)
    with site.db() as db:
        act(acting(db))
    return changed(before, stored(site, Family))


def set_family(site, family, **changes):
    with site.db() as db:
        db.execute(update(Family).where(Family.id == family.id).values(**changes))


def test_one_family_is_revoked(site, family):
    assert change(site, lambda ctx: families.revoke(ctx, family.id, "test")) == {family.id}
    assert change(site, lambda ctx: families.revoke(ctx, uuid4(), "test")) == set()


def test_one_family_is_exempted_and_only_if_it_is_the_user_s_and_was_active(site, ann, family):
    def exempt(user_id, family_id=family.id, epoch=6):
        return change(site, lambda ctx: families.exempt(ctx, user_id, family_id, epoch))

    for user_id in BOTH:
        assert exempt(user_id) == set()
    assert exempt(ann.id, uuid4()) == set()
    for epoch in (4, 5, 7, 8):
        assert exempt(ann.id, epoch=epoch) == set()
    assert exempt(ann.id) == {family.id}
    assert stored(site, Family)[family.id]["user_epoch"] == 6


def test_a_token_is_active_by_its_own_family(site, keys, family, tokens):
    token = Token(family.id, 0, 2**40)
    assert site.me(tokens["access_token"]).json["email"] == "ann@example.com"
    assert find_active(site.database, token, clock.now(), GRACE).rotated_at == family.rotated_at
    assert list(find_together(site.database, [family.id])) == [family.id]
    assert site.introspect(keys, tokens["access_token"])["active"] is True
    with site.db() as db:
        db.execute(Family.__table__.delete().where(Family.id == family.id))
        assert db.execute(ACTIVE_FAMILY, {"family_id": family.id}).all() == []
    assert find_active(site.database, token, clock.now(), GRACE) is None
    assert site.introspect(keys, tokens["access_token"]) == {"active": False}
    unknown = replace(keys, client_id=str(uuid4()))  # the clients beside have its secret
    assert site.introspect(unknown, tokens["access_token"], 401)["error"] == "invalid_client"
    assert find_together(site.database, [family.id]) == {}


@pytest.mark.parametrize("model", [User, Client])
def test_a_token_is_active_by_its_own_user_and_client(site, ann, keys, family, tokens, model):
    owner = ann.id if model is User else UUID(keys.client_id)
    with site.db() as db:
        assert len(db.execute(ACTIVE_FAMILY, {"family_id": family.id}).all()) == 1
        db.execute(update(model).where(model.id == owner).values(disabled_at=clock.now()))
    site.me(tokens["access_token"], status=401)
    with site.db() as db:
        db.execute(update(model).values(disabled_at=None))
    column = "user_epoch" if model is User else "client_epoch"
    for epoch, status in ((4, 401), (6, 401), (5, 200)):
        set_family(site, family, **{column: epoch})
        site.me(tokens["access_token"], status=status)


@pytest.mark.parametrize("id_", BOTH)
def test_a_client_uses_and_ends_no_family_of_another(site, ann, id_):
    keys, other = site.client(), site.client_with_id(id_)
    tokens = site.login(keys)
    for token in tokens["refresh_token"], tokens["access_token"]:
        site.revoke(other, token)
        assert site.introspect(other, token) == {"active": False}
    assert site.refresh(other, tokens["refresh_token"], status=400)["error"] == "invalid_grant"
    site.me(tokens["access_token"])
    site.refresh(keys, tokens["refresh_token"])


def test_a_client_ends_the_family_of_its_token_alone(site, keys, family, tokens):
    assert change(site, lambda _: site.revoke(keys, tokens["access_token"])) == {family.id}
    with site.db() as db:
        db.execute(Family.__table__.delete().where(Family.id == family.id))
    assert change(site, lambda _: site.revoke(keys, tokens["access_token"])) == set()


def test_a_refresh_changes_one_family(site, keys, family, tokens):
    assert change(site, lambda _: site.refresh(keys, tokens["refresh_token"])) == {family.id}
    with site.db() as db:
        db.execute(Family.__table__.delete().where(Family.id == family.id))
    assert change(site, lambda _: site.refresh(keys, tokens["refresh_token"], 400)) == set()


def test_tokens_are_issued_for_the_user_and_client_that_were_checked(site, ann, keys, family):
    def owned(**changes):
        at = {"client_id": UUID(keys.client_id), "client_epoch": 5}
        at |= {"user_id": ann.id, "user_epoch": 5, **changes}
        client = ClientRef(at["client_id"], at["client_epoch"])
        checked = account_of(ann)._replace(id=at["user_id"], epoch=at["user_epoch"])
        with site.db() as db:
            services = site.app.registry["authsite"]
            return issue(acting(db, services), client, without_proof(checked), "")

    for changes in (
        *({"client_id": uuid4()}, {"user_id": uuid4()}),
        *({"client_epoch": 4}, {"client_epoch": 6}, {"user_epoch": 4}, {"user_epoch": 6}),
    ):
        with pytest.raises(InvalidGrant):
            owned(**changes)
    assert site.events().count("token.issued") == 1
    pair = owned()
    assert site.events().count("token.issued") == 2
    assert site.http.get("/v1/user", headers=bearer(pair.access_token)).json["id"] == str(ann.id)
    [made] = stored(site, Family).keys() - {family.id, *BOTH}
    assert made.version == 4
