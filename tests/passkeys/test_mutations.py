"""Whatever a browser sends as a credential: it is refused, and nothing is raised."""

import copy
import json
import random
import time
from decimal import Decimal
from uuid import uuid4

import cbor2
import pytest

from authsite.platform.runtime import clock
from authsite.platform.settings.rules import relying_party
from authsite.sign_in.factors.policy import Proved
from authsite.sign_in.methods.passkeys import assertion, registration
from authsite.sign_in.methods.passkeys.failures import PasskeyFailure, Refused
from authsite.users.account import PASSWORD, account_of
from authsite.users.models import User
from tests.support import extent
from tests.support.authenticator import Authenticator, Ec2, Okp, bytes_of, text_of

from .passkey_users import context, post, register, rows, sign_in_options

VALUES = (None, True, False, 0, -1, 2**64, 1.5, "", "a", "\ud800", "é", "=", "AA", [], {}, [[]],
          {"id": []}, "x" * 70, b"\xff".decode("latin-1"))  # fmt: skip
OTHERS = (None, True, 0, -7, 2**70, 1.5, "", "text", b"", b"\x00" * 32, [], {}, {1: 2}, [1, [2]],
          cbor2.CBORTag(4, [10**6, 1]), cbor2.CBORTag(258, [1]), cbor2.undefined)  # fmt: skip


def places(value, path=()):
    """All paths in an object of JSON or CBOR."""
    yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from places(each, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from places(each, (*path, number))


def with_value(value, path, new):
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = with_value(value[path[0]], path[1:], new)
    return value


def without(value, path):
    value = copy.copy(value)
    if len(path) == 1:
        del value[path[0]]
    else:
        value[path[0]] = without(value[path[0]], path[1:])
    return value


def mutated_bytes(random, raw):
    """Another text of bytes: one of them changed, some missing, some more."""
    raw = bytearray(raw)
    kind = random.randrange(5)
    if kind == 0 and raw:
        raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)
    elif kind == 1 and raw:
        raw = raw[: random.randrange(len(raw))]
    elif kind == 2:
        raw += random.randbytes(random.randrange(1, 9))
    elif kind == 3 and raw:
        at = random.randrange(len(raw))
        del raw[at : at + random.randrange(1, 40)]
    else:
        raw[random.randrange(len(raw) + 1) :] = random.randbytes(random.randrange(80))
    return bytes(raw)


def mutated_value(random, value, others):
    """``value`` with another one, or none, at one place."""
    path = random.choice(list(places(value)))
    if path and random.random() < 0.3:
        return without(value, path)
    return with_value(value, path, random.choice(others))


def mutated(random, made):
    """A credential that differs from the right one, and the key pair that signs it is not known."""
    made, kind = copy.deepcopy(made), random.randrange(4)
    response = made["response"]
    if kind == 0:
        return mutated_value(random, made, VALUES)
    name = random.choice([each for each in response if isinstance(response[each], str)])
    raw = bytes_of(response[name])
    if name == "clientDataJSON" and kind == 1:
        data = mutated_value(random, json.loads(raw), VALUES)
        response[name] = text_of(json.dumps(data).encode())
    elif name == "attestationObject" and kind < 3:
        found = cbor2.loads(raw)
        if kind == 1:
            found = mutated_value(random, found, OTHERS)
        else:
            found["authData"] = mutated_key(random, found["authData"])
        response[name] = text_of(cbor2.dumps(found))
    else:
        response[name] = text_of(mutated_bytes(random, raw))
    return made


def mutated_key(random, data):
    """Authenticator data whose key is another object of CBOR."""
    start = 55 + int.from_bytes(data[53:55], "big")
    key = mutated_value(random, cbor2.loads(data[start:]), OTHERS)
    return data[:start] + cbor2.dumps(key)


def attempts(usual, whole):
    chosen = random.Random(extent.seed(5))  # noqa: S311
    for _ in range(extent.volume(usual, whole)):
        yield chosen


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def test_of_mutated_uses_none_is_accepted_and_none_raises(site, ann):
    own = register(site, ann, Authenticator(Okp()))
    [row] = rows(site)
    with site.db() as db:
        ctx = context(site, db)
        party, bound = relying_party(ctx.settings), registration.of_browser("seed")
        right = own.get(assertion.options(ctx, bound, None))
        given = party, bound, row.public_key, row.user_handle

        def verify(credential):
            party, *more = given
            found = registration.parsed(json.dumps(credential))
            if isinstance(found, Refused) or found["id"] != row.credential_id:
                return False
            used = registration.verify_assertion(ctx, party, found, *more)
            return not isinstance(used, Refused)

        assert verify(right)
        for chosen in attempts(2_000, 60_000):
            made = mutated(chosen, right)
            if verify(made):
                assert is_the_same(made, right), made


def test_of_mutated_registrations_none_raises_and_each_accepted_key_loads(site, ann):
    own = Authenticator(Ec2())
    with site.db() as db:
        ctx, account, bound_id = context(site, db), account_of(db.get(User, ann.id)), uuid4()
        proved = Proved(PASSWORD, clock.now())
        right = own.create(registration.options(ctx, account, bound_id, proved))
        accepted = 0
        for chosen in attempts(2_000, 40_000):
            made = mutated(chosen, right)
            found = registration.check(ctx, account, bound_id, json.dumps(made))
            if isinstance(found, Refused):
                continue
            accepted += 1
            assert found.credential_id == made["id"]
            assert registration._is_usable(found.public_key)
        again = registration.check(ctx, account, bound_id, json.dumps(right))
        assert not isinstance(again, Refused)
        assert accepted  # a registration has no signature: another key is a right one, too


@pytest.mark.parametrize(
    "attestation",
    [b"\x81" * 9_000, b"\xa1" * 9_000, b"\xd8\x1c" * 4_000, b"\x9b" + b"\xff" * 8,
     b"\xbb" + b"\x7f" * 8, b"\x5b" + b"\x7f" * 8, b"\xc2" + cbor2.dumps(b"\xff" * 9_000),
     b"\xc4\x82\x1a\x3b\x9a\xca\x00\x01", b"\xd8\x23" + cbor2.dumps("(a+)+" * 900 + "$"),
     b"\x9f" * 9_000, b"\xd8\x1d\x00"],
)  # fmt: skip
def test_cbor_that_is_deep_or_says_that_it_is_large_costs_nothing(site, ann, attestation):
    with site.db() as db:
        ctx, account, bound_id = context(site, db), account_of(db.get(User, ann.id)), uuid4()
        proved = Proved(PASSWORD, clock.now())
        made = Authenticator().create(registration.options(ctx, account, bound_id, proved))
        made["response"]["attestationObject"] = text_of(attestation)
        before = time.process_time()
        refused = registration.check(ctx, account, bound_id, json.dumps(made))
        assert refused == Refused(PasskeyFailure.MALFORMED)
        assert time.process_time() - before < 1


@pytest.mark.parametrize("algorithm", [Decimal("1E+1000000"), 2**9_000, -(2**31), -8.5])
def test_an_algorithm_that_is_no_small_number_costs_nothing(site, ann, algorithm):
    with site.db() as db:
        ctx, account, bound_id = context(site, db), account_of(db.get(User, ann.id)), uuid4()
        key = Ec2()
        key.cose[3] = algorithm
        proved = Proved(PASSWORD, clock.now())
        made = Authenticator(key).create(registration.options(ctx, account, bound_id, proved))
        before = time.process_time()
        refused = registration.check(ctx, account, bound_id, json.dumps(made))
        assert refused == Refused(PasskeyFailure.MALFORMED)
        assert time.process_time() - before < 1


def test_the_page_answers_each_of_them_without_an_error_of_ours(site, ann):
    own = register(site, ann)
    right = own.get(sign_in_options(site))
    for chosen in attempts(40, 400):
        assert post(site, json.dumps(mutated(chosen, right))).status_int in (303, 422)
        site.new_browser()


def is_the_same(made, right):
    """Parts that are not signed and name no user: the transport, say, or an absent handle."""
    signed = ("clientDataJSON", "authenticatorData", "signature")
    sent, own = made["response"], right["response"]
    handle = sent.get("userHandle")
    same = all(bytes_of(sent[each]) == bytes_of(own[each]) for each in signed)
    return same and (not handle or handle == own["userHandle"])
