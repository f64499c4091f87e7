"""The checks of ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), each with a wrong token."""

import json
from base64 import urlsafe_b64encode

import pytest

from authsite.platform.runtime import clock
from tests.support.fake_provider import CLIENT_ID, CLIENT_SECRET, DIRECTORY, key


def now():
    return int(clock.now().timestamp())


def encoded(value):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://accounts.google.com"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"aud": "another-client"}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": []}, "audience"),
        ({"aud": {CLIENT_ID: 1}}, "audience"),
        ({"aud": [CLIENT_ID, "another-client"]}, "audience"),
        ({"aud": [CLIENT_ID, "another-client"], "azp": "another-client"}, "audience"),
        ({"aud": [CLIENT_ID, "another-client"], "azp": CLIENT_ID}, None),
        ({"aud": [CLIENT_ID]}, None),
        ({"azp": CLIENT_ID}, None),
        ({"azp": "another-client"}, "audience"),
        ({"aud": [CLIENT_ID], "azp": "another-client"}, "audience"),
        ({"azp": [CLIENT_ID]}, "audience"),
        ({"nbf": "now"}, "not_before"),
        ({"nbf": 10**400}, "not_before"),
        ({"exp": -1}, "expired"),
        ({"exp": None}, "expired"),
        ({"exp": float("inf")}, "expired"),
        ({"exp": float("nan")}, "expired"),
        ({"exp": 10**400}, "expired"),
        ({"exp": "2099-01-01"}, "expired"),
        ({"exp": True}, "expired"),
        ({"iat": None}, "issued_at"),
        ({"iat": "now"}, "issued_at"),
        ({"nonce": None}, "nonce_missing"),
        ({"nonce": "of-another-start"}, "nonce"),
        ({"nonce": ["\ud800"]}, "nonce"),
        ({"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}, "at_hash"),
        ({"at_hash": 0}, "at_hash"),
        ({"sub": None}, "subject"),
        ({"sub": 12}, "subject_type"),
        ({"sub": ["12"]}, "subject_type"),
        ({"sub": "s" * 256}, "subject"),
        ({"sub": "a\0b"}, "subject"),
        ({"sub": "\ud800"}, "subject"),
    ],
)
def test_a_wrong_claim_is_refused(trips, claims, reason):
    fake = trips.to()
    fake.claims |= claims
    answer = trips.trip(fake)
    assert (answer["reason"], answer.get("status")) == (reason, 503 if reason else None)


def test_the_token_ends_at_its_time_and_may_be_issued_a_minute_ahead(trips, frozen):
    fake = trips.to()
    for claims, reason in (
        ({"exp": now() + 1, "iat": now() + 60}, None),
        ({"exp": now()}, "expired"),
        ({"exp": now() + 600, "iat": now() + 61}, "issued_at"),
        ({"iat": now(), "nbf": now() + 60}, None),
        ({"nbf": now() + 61}, "not_before"),
    ):
        fake.claims |= claims
        assert trips.reason(fake) == reason


@pytest.mark.parametrize(
    ("typ", "reason"),
    [
        (None, None),
        ("JWT", None),
        ("jwt", None),
        ("application/jwt", None),
        ("at+jwt", "token_type"),
        ("logout+jwt", "token_type"),
        ("", "token_type"),
    ],
)
def test_a_token_of_another_kind_is_no_id_token(trips, typ, reason):
    fake = trips.to()
    fake.header = {"typ": typ}
    assert trips.reason(fake) == reason


def test_the_nonce_of_an_earlier_start_is_refused(trips):
    fake = trips.to()
    earlier, later = trips.sent(fake), trips.start(fake)
    fake.claims["nonce"] = earlier["nonce"]
    assert trips.back(fake.authorize(later))["reason"] == "nonce"


def test_the_hash_of_the_access_token_is_accepted(trips):
    """The example of OpenID Connect Core 1.0, appendix A.3."""
    fake = trips.to()
    fake.access_token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    fake.claims["at_hash"] = "77QmUPtjPfzWtF2AnpK9RQ"
    assert trips.reason(fake) is None


@pytest.mark.parametrize("signed_with", ["RS256", "PS256", "ES256"])
def test_announced_algorithms_are_accepted(trips, signed_with):
    fake = trips.to()
    fake.discovery["id_token_signing_alg_values_supported"] = [signed_with]
    fake.sign_with(signed_with)
    assert trips.reason(fake) is None


def test_an_algorithm_that_is_not_announced_is_refused(trips):
    fake = trips.to()
    fake.sign_with("PS256")
    assert trips.reason(fake) == "algorithm"


def unsigned(fake):
    return f"{encoded({'alg': 'none'})}.{fake.payload()}."


def signed_with_the_public_key(fake):
    return fake.forged(fake.keys[0].as_pem(private=False))


def signed_with_the_client_secret(fake):
    return fake.forged(CLIENT_SECRET.encode())


@pytest.mark.parametrize(
    "forge", [unsigned, signed_with_the_public_key, signed_with_the_client_secret]
)
def test_no_announcement_allows_none_or_a_shared_secret(trips, forge):
    fake = trips.to()
    fake.discovery["id_token_signing_alg_values_supported"] = ["none", "HS256", "RS256"]
    fake.forge = forge
    assert trips.reason(fake) == "algorithm"


def test_a_signature_of_another_key_is_refused(trips):
    fake = trips.to()
    fake.signing_key = key("k2")
    fake.header = {"kid": "k1"}
    assert trips.reason(fake) == "signature"


def test_a_signature_for_other_claims_is_refused(trips):
    fake = trips.to()

    def forge(fake):
        header, _, signature = fake.signed().split(".")
        return ".".join((header, fake.payload(sub="another"), signature))

    fake.forge = forge
    assert trips.reason(fake) == "signature"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "e30.e30",
        "a.b.c",
        f"{encoded([1, 'alg'])}.e30.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'k1'})}.{encoded([])}.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'k1'})}.{encoded(b'[' * 4000)}.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'k1', 'crit': ['b64'], 'b64': False})}.e30.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'k1', 'crit': ['x'], 'x': 1})}.e30.e30",
        f"{encoded({'alg': 'RS256', 'kid': 'k1'})}.é.e30",
    ],
)
def test_a_token_that_cannot_be_parsed_is_refused(trips, token):
    fake = trips.to()
    fake.forge = lambda _fake: token
    assert trips.reason(fake) == "id_token"


@pytest.mark.parametrize("algorithm", [None, ["RS256"], {"RS256": 1}, "rs256"])
def test_a_name_of_no_algorithm_is_refused(trips, algorithm):
    fake = trips.to()
    fake.forge = lambda fake: f"{encoded({'alg': algorithm, 'kid': 'k1'})}.{fake.payload()}.e30"
    assert trips.reason(fake) == "algorithm"


def test_a_token_of_more_than_8_kib_is_not_parsed(trips):
    fake = trips.to()
    fake.claims["groups"] = ["g" * 30] * 150
    assert trips.reason(fake) is None
    fake.claims["groups"] *= 2
    assert trips.reason(fake) == "id_token"


def test_a_token_without_kid_is_accepted_if_the_set_has_one_key(trips):
    fake = trips.to()
    fake.header = {"kid": None}
    assert trips.reason(fake) is None
    other = trips.to()
    other.header, other.keys = {"kid": None}, [key("k1"), key("k2")]
    assert trips.reason(other) == "key"


def test_a_key_of_another_kind_does_not_count(trips):
    fake = trips.to()
    fake.keys = [key("k1", "EC")]
    assert trips.reason(fake) == "key"


@pytest.mark.parametrize(
    "changes", [{"n": None}, {"n": 7}, {"e": "!"}, {"n": ""}, {"use": "enc"}, {"alg": "PS256"}]
)
def test_a_key_that_is_not_valid_or_for_something_else_is_refused(trips, changes):
    fake = trips.to()
    made = fake.keys[0].as_dict(private=False) | changes
    fake.faults["/keys"] = lambda _request: (200, {}, {"keys": [made]})
    assert trips.reason(fake) == "key"


@pytest.mark.parametrize("found", [[], [1, None], {"k1": 1}, None])
def test_a_set_without_keys_is_refused(trips, found):
    fake = trips.to()
    fake.faults["/keys"] = lambda _request: (200, {}, {"keys": found})
    assert trips.reason(fake) == "key"


@pytest.mark.parametrize(
    ("claims", "reason", "status"),
    [
        ({"tid": "00000000-0000-0000-0000-000000000001"}, "tenant", 403),
        ({"tid": None, "iss": "https://login.microsoftonline.com//v2.0"}, "issuer", 503),
        ({"tid": "common"}, "issuer", 503),
        ({"iss": "{issuer}"}, "issuer", 503),
        ({"tid": DIRECTORY, "iss": "{other}"}, "issuer", 503),
    ],
)
def test_a_token_of_another_directory_is_refused(trips, claims, reason, status):
    fake = trips.to("microsoft")
    template = fake.metadata()["issuer"]
    names = {
        "{issuer}": template,
        "{other}": template.replace("{tenantid}", "00000000-0000-0000-0000-000000000001"),
    }
    fake.claims |= {name: names.get(value, value) for name, value in claims.items()}
    answer = trips.trip(fake)
    assert (answer["reason"], answer["status"]) == (reason, status)


def test_tenants_may_be_all_or_the_one_of_the_issuer(trips):
    fake = trips.to("microsoft", tenants=("*",))
    fake.claims["tid"] = "00000000-0000-0000-0000-000000000001"
    assert trips.trip(fake)["issuer"].endswith(f"/{fake.claims['tid']}/v2.0")
    single = trips.to("microsoft")
    trips.set(single, issuer=f"{single.url}/{DIRECTORY}/v2.0", tenants=())
    single.discovery["issuer"] = f"{single.url}/{DIRECTORY}/v2.0"
    assert trips.reason(single) is None
    single.claims["tid"] = "00000000-0000-0000-0000-000000000001"
    single.claims["iss"] = f"{single.url}/{single.claims['tid']}/v2.0"
    assert trips.reason(single) == "issuer"
