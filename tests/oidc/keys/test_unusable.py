"""Signing keys whose private part no sealing key opens."""

import pytest
from sqlalchemy import select

from authsite.oauth.oidc.errors import SigningUnavailable
from authsite.oauth.oidc.id_tokens import claims_of, sign
from authsite.oauth.oidc.keys.ring import require_signers, ring_of
from authsite.oauth.oidc.keys.rotation import RotationRefused, alone, rotate
from authsite.oauth.oidc.keys.scheduled import keep_keys
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.runtime import clock
from authsite.platform.tasks.background import transaction
from tests.oidc.keys.conftest import ISSUER, another_process, services_of
from tests.support.acting import acting

pytestmark = pytest.mark.both_databases
CLAIMS = {"iss": ISSUER, "sub": "x"}


@pytest.fixture
def wrong(provider):
    """A process with another sealing key, on a site that has keys."""
    keep_keys(services_of(provider))
    return another_process(provider, other_sealing=True)


def stored(site):
    with site.db() as db:
        return {row.kid: row.private for row in db.scalars(select(SigningKey))}


def test_nothing_is_signed_and_all_else_goes_on(provider, wrong):
    token = sign(acting(None, services_of(provider)), CLAIMS, "RS256")
    ctx = acting(None, wrong)
    for algs in ((), ("RS256",), ("ES256",), ("RS256", "ES256")):
        with pytest.raises(SigningUnavailable) as error:
            require_signers(ctx, *algs)
        assert (error.value.status, error.value.code) == (503, "temporarily_unavailable")
        assert error.value.headers == {"Retry-After": "60"}
    with pytest.raises(SigningUnavailable):
        sign(ctx, CLAIMS, "RS256")
    assert claims_of(ctx, token) == CLAIMS
    published = provider.http.get("/.well-known/jwks.json").json["keys"]
    assert ring_of(wrong).keys(wrong).published(clock.now()) == published
    require_signers(acting(None, services_of(provider)), "RS256", "ES256")


def test_no_key_is_replaced_however_old_it_is(provider, wrong, frozen):
    frozen.advance(86400 * 400)
    before = stored(provider)
    keep_keys(wrong)
    with (
        alone(wrong.database),
        transaction(wrong) as ctx,
        pytest.raises(RotationRefused, match="--now"),
    ):
        rotate(ctx, "RS256")
    assert stored(provider) == before
    require_signers(acting(None, services_of(provider)))


def test_at_once_all_of_them_are_replaced(provider, wrong):
    token = sign(acting(None, services_of(provider)), CLAIMS, "RS256")
    before = stored(provider)
    with alone(wrong.database), transaction(wrong) as ctx:
        for alg in ("RS256", "ES256"):
            rotate(ctx, alg, at_once=True)
    ring_of(wrong).forget()
    ctx = acting(None, wrong)
    require_signers(ctx)
    assert claims_of(ctx, sign(ctx, CLAIMS, "ES256")) == CLAIMS
    assert claims_of(ctx, token) == CLAIMS  # what was signed before stays valid
    after = stored(provider)
    assert len(after.keys() & before.keys()) == 2  # those that have signed
    assert len(after) == 6


def test_with_one_key_that_cannot_sign_the_other_algorithm_goes_on(provider, wrong):
    with alone(wrong.database), transaction(wrong) as ctx:
        rotate(ctx, "ES256", at_once=True)
    ring_of(wrong).forget()
    require_signers(acting(None, wrong), "ES256")
    with pytest.raises(SigningUnavailable):
        require_signers(acting(None, wrong), "RS256")
