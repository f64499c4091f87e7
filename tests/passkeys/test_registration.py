"""Add a passkey: what the browser made for options that the service gave."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import cbor2
import pytest

from authsite.platform.http.errors import ApiError
from authsite.sign_in.factors.errors import NotOffered
from authsite.sign_in.methods.passkeys import registration
from authsite.sign_in.methods.passkeys.registration import InvalidCredential, TooManyPasskeys
from authsite.users.account import account_of
from authsite.users.models import User
from tests.support.authenticator import Authenticator, Ec2, Okp, Rsa, bytes_of, text_of

from .passkey_users import context, creation_options, register, rows


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def store(site, user, bound_id, credential):
    text = credential if isinstance(credential, str) else json.dumps(credential)
    with site.db() as db:
        account = account_of(db.get(User, user.id))
        return registration.register(
            context(site, db), account, bound_id, text, session_id=None
        ).passkey


def test_the_options_are_what_the_browser_parses(site, ann):
    options = creation_options(site, ann, uuid4())
    assert options["rp"] == {"id": "localhost", "name": site.cfg.site_name}
    assert options["user"]["name"] == options["user"]["displayName"] == "ann@example.com"
    assert len(bytes_of(options["user"]["id"])) == 32
    assert [each["alg"] for each in options["pubKeyCredParams"]] == [-7, -8, -257]
    assert options["attestation"] == "none"
    assert options["excludeCredentials"] == []
    assert options["authenticatorSelection"] == {
        "residentKey": "preferred",
        "requireResidentKey": False,
        "userVerification": "preferred",
    }
    assert len(bytes_of(options["challenge"])) >= 16
    # base64url without padding, which is what the browser's parser takes
    assert not {"=", "+", "/"} & {*options["challenge"], *options["user"]["id"]}


def test_all_passkeys_of_a_user_have_one_handle_and_are_excluded(site, ann):
    own = register(site, ann)
    options = creation_options(site, ann, uuid4())
    assert options["user"]["id"] == own.handle
    assert options["excludeCredentials"] == [
        {"type": "public-key", "id": text_of(own.id), "transports": ["hybrid", "internal"]}
    ]
    register(site, ann)
    bob = site.user("bob@example.com", confirmed=True)
    register(site, bob)
    handles = {}
    for row in rows(site):
        handles.setdefault(row.user_id, set()).add(row.user_handle)
    assert [len(each) for each in handles.values()] == [1, 1]
    assert len(set.union(*handles.values())) == 2


@pytest.mark.parametrize("key", [Ec2, Okp, Rsa])
@pytest.mark.parametrize("synced", [True, False])
def test_what_is_stored(site, ann, key, synced):
    own = register(site, ann, Authenticator(key(), synced=synced), name="  My phone ")
    [row] = rows(site)
    assert row.user_id == ann.id
    assert row.credential_id == text_of(own.id)
    assert row.public_key == cbor2.dumps(own.key.cose)
    assert (row.rp_id, row.name, row.sign_count) == ("localhost", "My phone", 0)
    assert (row.backup_eligible, row.backed_up) == (synced, synced)
    assert row.transports == "hybrid internal"
    assert row.used_at is None


def p256(x, y):
    return {1: 2, 3: -7, -1: 1, -2: x, -3: y}


RIGHT = Ec2().cose
SMALL = Rsa(1024)
WRONG = {
    "another site": {"origin": "https://ours.evil.com"},
    "port": {"origin": "http://localhost:6543"},
    "null": {"origin": "null"},
    "another domain": {"rp_id": "evil.com"},
    "no user presence": {"flip": 0x01},
    "backup without eligibility": {"flip": 0x08},
    "embedded": {"client_data": {"crossOrigin": True}},
    "embedded, as a number": {"client_data": {"crossOrigin": 1}},
    "top origin": {"client_data": {"topOrigin": "http://localhost"}},
    "type of a sign-in": {"type": "webauthn.get"},
    "no point of the curve": {"cose": p256(b"\x01" * 32, b"\x02" * 32)},
    "point at infinity": {"cose": p256(bytes(32), bytes(32))},
    "short coordinate": {"cose": p256(b"\x01", RIGHT[-3])},
    "sign bit for y": {"cose": {**RIGHT, -3: True}},
    "another curve": {"cose": {**RIGHT, -1: 2}},
    "algorithm of another kind": {"cose": {**RIGHT, 3: -257}},
    "edwards key with ES256": {"cose": {**Okp().cose, 3: -7}},
    "PS256": {"cose": {**Rsa().cose, 3: -37}},
    "small RSA key": {"cose": SMALL.cose},
    "exponent one": {"cose": {**SMALL.cose, -2: b"\x01"}},
    "uncompressed point of U2F": {"cose": b"\x04" + RIGHT[-2] + RIGHT[-3]},
    "no algorithm": {"cose": {1: 2, -1: 1, -2: RIGHT[-2], -3: RIGHT[-3]}},
    "key is a list": {"cose": [1, 2]},
    "key is no CBOR": {"cose": b"\xff\xff"},
    "no key": {"attested": b""},
    "no id in the key": {"attested_id": b""},
    "id of another passkey": {"attested_id": b"x" * 32},
    "long id": {"id": b"x" * 1024},
    "unknown statement": {"statement": {"fmt": "strange"}},
    "statement in none": {"statement": {"attStmt": {"alg": -7, "sig": b"x"}}},
    "packed without signature": {"statement": {"fmt": "packed", "attStmt": {}}},
    "format is a number": {"statement": {"fmt": 7}},
    "attestation is no CBOR": {"response": {"attestationObject": "____"}},
    "no attestation": {"response": {"attestationObject": None}},
    "another raw id": {"raw_id": b"other"},
    "another type": {"credential": {"type": "password"}},
    "response is text": {"credential": {"response": "text"}},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_one_respect_is_refused(site, ann, wrong):
    bound_id = uuid4()
    own, options = Authenticator(), creation_options(site, ann, bound_id)
    with pytest.raises(InvalidCredential):
        store(site, ann, bound_id, own.create(options, **wrong))
    assert rows(site) == []
    store(site, ann, bound_id, own.create(options))  # the right one still counts


def test_self_attestation_of_an_old_key_is_accepted(site, ann):
    """Browsers may send it although none was asked for."""
    bound_id = uuid4()
    own = Authenticator()
    made = own.create(creation_options(site, ann, bound_id))
    raw = cbor2.loads(bytes_of(made["response"]["attestationObject"]))
    from hashlib import sha256

    signed = raw["authData"] + sha256(bytes_of(made["response"]["clientDataJSON"])).digest()
    raw |= {"fmt": "packed", "attStmt": {"alg": -7, "sig": own.key.sign(signed)}}
    made["response"]["attestationObject"] = text_of(cbor2.dumps(raw))
    store(site, ann, bound_id, made)


@pytest.mark.parametrize("transports", [None, "usb", [7, "usb", "strange"], {"usb": 1}])
def test_transports_are_those_that_are_known(site, ann, transports):
    register(site, ann, response={"transports": transports})
    assert rows(site)[0].transports == ("usb" if isinstance(transports, list) else "")


def test_a_challenge_counts_once_and_in_its_sign_in_alone(site, ann):
    bound_id, other = uuid4(), uuid4()
    options = creation_options(site, ann, bound_id)
    with pytest.raises(InvalidCredential):
        store(site, ann, other, Authenticator().create(options))
    store(site, ann, bound_id, Authenticator().create(options))
    with pytest.raises(InvalidCredential):
        store(site, ann, bound_id, Authenticator().create(options))
    assert len(rows(site)) == 1


def test_a_challenge_expires(site, ann, frozen):
    bound_id = uuid4()
    options = creation_options(site, ann, bound_id)
    frozen.advance(601)
    with pytest.raises(InvalidCredential):
        store(site, ann, bound_id, Authenticator().create(options))


def test_a_challenge_of_a_sign_in_adds_nothing(site, ann):
    bound_id = uuid4()
    options = creation_options(site, ann, bound_id)
    options["challenge"] = site.http.get("/login/passkey/options").json["challenge"]
    with pytest.raises(InvalidCredential):
        store(site, ann, bound_id, Authenticator().create(options))


@pytest.mark.both_databases
def test_the_id_of_a_passkey_of_another_user_is_refused(site, ann):
    own, bob, bound_id = register(site, ann), site.user("bob@example.com"), uuid4()
    with pytest.raises(InvalidCredential):
        store(site, bob, bound_id, own.create(creation_options(site, bob, bound_id)))
    assert [each.user_id for each in rows(site)] == [ann.id]


@pytest.mark.both_databases
def test_twenty_at_most_also_at_once(site, ann):
    for _ in range(19):
        register(site, ann)
    made = []
    for _ in range(4):
        bound_id = uuid4()
        made.append((bound_id, Authenticator().create(creation_options(site, ann, bound_id))))

    def add(each):
        try:
            return store(site, ann, *each) is not None
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(add, made))
    assert found.count("too_many_passkeys") == 3, found
    assert len(rows(site)) == 20
    with pytest.raises(TooManyPasskeys):
        creation_options(site, ann, uuid4())


def test_two_first_passkeys_at_once_have_one_handle(site, ann):
    first, second = uuid4(), uuid4()
    made = [Authenticator().create(creation_options(site, ann, each)) for each in (first, second)]
    store(site, ann, first, made[0])
    with pytest.raises(InvalidCredential):
        store(site, ann, second, made[1])


@pytest.mark.parametrize(
    ("aaguid", "agent", "name"),
    [
        ("fbfc3007-154e-4ecc-8c0b-6e020557d7bd", "", "iCloud Keychain"),
        ("d548826e-79b4-db40-a3d8-11116f7e8349", "", "Bitwarden"),
        ("00000000-0000-0000-0000-000000000000",
         "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
         "Firefox on Linux"),
        ("00000000-0000-0000-0000-000000000000", "", "Passkey"),
    ],
)  # fmt: skip
def test_names_are_those_of_the_keeper_or_of_browser_and_system(aaguid, agent, name):
    from uuid import UUID

    from authsite.sign_in.methods.passkeys.stored import KEEPERS, MAX_NAME, name_of

    assert name_of(UUID(aaguid), agent) == name
    assert all(str(UUID(each)) == each for each in KEEPERS)
    assert all(0 < len(each) <= MAX_NAME for each in KEEPERS.values())


def test_none_are_added_where_the_settings_forbid_it(site_with):
    site = site_with(factors="totp")
    with pytest.raises(NotOffered):
        creation_options(site, site.user(), uuid4())
