"""Client authentication, corner by corner (RFC 6749, sections 2.3 and 5.2)."""

import uuid
from base64 import b64encode
from hashlib import sha256
from urllib.parse import quote_plus

import pytest

from authsite.oauth.clients import authentication, service
from authsite.oauth.models import Client
from tests.support.acting import acting
from tests.support.statements import counted

MACHINE = {"grant_type": "client_credentials"}
REFUSED = {
    "error": "invalid_client",
    "error_description": "Client authentication failed",
    "message": "Client authentication failed",
}


@pytest.fixture
def keys(site):
    return site.client("personal")


def post(site, form, *, basic=None, status=None):
    headers = {"Authorization": basic} if basic is not None else {}
    return site.http.post("/v1/oauth/token", {**MACHINE, **form}, headers=headers, status=status)


def basic(client_id, secret, scheme="Basic"):
    credentials = f"{quote_plus(client_id)}:{quote_plus(secret)}"
    return f"{scheme} {b64encode(credentials.encode()).decode()}"


def raw_basic(content):
    return f"Basic {b64encode(content).decode()}"


def wrong_pairs(keys):
    """Credentials in the body that are all wrong, as form fields."""
    good_id, good_secret = keys.client_id, keys.client_secret
    yield {"client_id": good_id, "client_secret": "wrong"}
    yield {"client_id": good_id, "client_secret": good_secret[:-1]}
    yield {"client_id": good_id, "client_secret": good_secret + "A"}
    yield {"client_id": good_id, "client_secret": good_secret.swapcase()}
    yield {"client_id": good_id, "client_secret": f" {good_secret}"}
    yield {"client_id": good_id, "client_secret": sha256(good_secret.encode()).hexdigest()}
    yield {"client_id": str(uuid.uuid4()), "client_secret": good_secret}
    yield {"client_id": "web", "client_secret": good_secret}
    yield {"client_id": f"{good_id} ", "client_secret": good_secret}
    yield {"client_id": good_id.replace("-", ""), "client_secret": good_secret}
    yield {"client_id": f"{{-{good_id.replace('-', '')}-}}", "client_secret": good_secret}
    yield {"client_id": good_id.upper(), "client_secret": good_secret}
    yield {"client_id": good_id.replace("-", "_"), "client_secret": good_secret}
    yield {"client_id": "٣" * 36, "client_secret": good_secret}
    yield {"client_id": "x" * 1024, "client_secret": "x" * 1024}
    yield {"client_secret": good_secret}
    yield {}


@pytest.mark.control("T07")
@pytest.mark.parametrize("number", range(17))
def test_wrong_credentials_in_the_body_get_the_one_answer(site, keys, number):
    form = list(wrong_pairs(keys))[number]
    answer = post(site, form, status=401)
    assert answer.json == REFUSED
    assert "WWW-Authenticate" not in answer.headers
    assert site.families() == []


@pytest.mark.control("T07")
@pytest.mark.parametrize("number", range(15))
def test_wrong_credentials_by_basic_get_the_one_response_with_a_basic_challenge(site, keys, number):
    form = list(wrong_pairs(keys))[number]
    answer = post(site, {}, basic=basic(form["client_id"], form["client_secret"]), status=401)
    assert answer.json == REFUSED
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="authsite"'


@pytest.mark.control("T07")
def test_an_unknown_id_and_a_wrong_secret_cost_the_same_query(site, keys):
    texts = []
    for client_id in (keys.client_id, str(uuid.uuid4()), "no id at all"):
        with counted(site.database) as statements:
            post(site, {"client_id": client_id, "client_secret": "wrong"}, status=401)
        # Without a background task the denial is noted by the same statements in each case.
        texts.append([each for each in statements if "denied_requests" not in each])
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == 1


@pytest.mark.control("T07")
def test_both_secrets_are_compared_for_known_and_unknown_clients_alike(site, keys, monkeypatch):
    compared = []
    real = authentication.hmac.compare_digest

    def watch(one, two):
        compared.append((type(one), type(two), len(one)))
        return real(one, two)

    monkeypatch.setattr(authentication.hmac, "compare_digest", watch)
    for form in (keys.form(), keys.form(client_secret="wrong"), {"client_id": str(uuid.uuid4())}):
        compared.clear()
        post(site, form, status="*")
        ours = [made for made in compared if made[2] == 64]
        assert ours == [(bytes, bytes, 64)] * 2


@pytest.mark.control("T07")
@pytest.mark.parametrize(
    "form",
    [
        lambda keys: {"client_id": keys.client_id, "client_secret": keys.client_secret},
        lambda keys: {"client_secret": keys.client_secret},
        lambda keys: {"client_secret": "wrong"},
        lambda keys: {"client_id": str(uuid.uuid4())},
    ],
)
def test_two_methods_at_once_are_refused_even_when_both_are_right(site, keys, form):
    header = basic(keys.client_id, keys.client_secret)
    answer = post(site, form(keys), basic=header, status=400)
    assert answer.json["error"] == "invalid_request"
    assert site.families() == []


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC"])
def test_basic_authentication_works_in_any_case(site, keys, scheme):
    post(site, {}, basic=basic(keys.client_id, keys.client_secret, scheme), status=200)


@pytest.mark.parametrize("client_id", [None, ""])
def test_beside_basic_the_body_may_repeat_the_client_id_or_leave_it_empty(site, keys, client_id):
    named = keys.client_id if client_id is None else client_id
    header = basic(keys.client_id, keys.client_secret)
    post(site, {"client_id": named, "client_secret": ""}, basic=header, status=200)


def test_the_parts_of_basic_are_form_encoded(site, keys):
    everything_encoded = "".join(f"%{byte:02X}" for byte in keys.client_secret.encode())
    content = f"{keys.client_id}:{everything_encoded}".encode()
    post(site, {}, basic=raw_basic(content), status=200)


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic ",
        "Basic  ",
        "Basic !!!",
        "Basic =",
        "Basic YQ",
        "Basic Og==",
        "Basic \xe4\xf6",
        "Basic " + "A" * 20_000,
        "Basic " + "A" * 4096,
        raw_basic(b"no colon"),
        raw_basic(b"\xff\xfe:\xff"),
        raw_basic(b"%ff:%ff"),
        raw_basic(b"%:%"),
        raw_basic(b"\0:\0"),
        raw_basic(b":"),
        raw_basic(b":secret"),
        raw_basic(b"id:"),
        "Basic one, Basic two",
    ],
)
@pytest.mark.control("T07")
def test_malformed_basic_is_a_plain_401(site, header):
    answer = post(site, {}, basic=header, status=401)
    assert answer.json == REFUSED
    assert answer.headers["WWW-Authenticate"] == 'Basic realm="authsite"'


@pytest.mark.parametrize("header", ["Bearer at_x", "Digest username=x", "Basicx", "", " ", "\xff"])
def test_another_scheme_is_not_a_client_authentication(site, keys, header):
    post(site, keys.form(), basic=header, status=200)
    assert "WWW-Authenticate" not in post(site, {}, basic=header, status=401).headers


@pytest.mark.control("T03")
@pytest.mark.parametrize("secret", ["ä", "пароль", "🔑" * 20, "\x7f", "é" * 43])
def test_a_client_secret_outside_ascii_is_401_in_body_and_basic(site, keys, secret):
    form = {"client_id": keys.client_id, "client_secret": secret}
    assert post(site, form, status=401).json == REFUSED
    assert post(site, {}, basic=basic(keys.client_id, secret), status=401).json == REFUSED


@pytest.mark.control("T03")
@pytest.mark.parametrize("client_id", ["ä", "🔑", "é" * 36])
def test_a_client_id_outside_ascii_is_401_in_body_and_basic(site, client_id):
    assert post(site, {"client_id": client_id, "client_secret": "x"}, status=401).json == REFUSED
    assert post(site, {}, basic=basic(client_id, "x"), status=401).json == REFUSED


@pytest.mark.control("T09")
@pytest.mark.parametrize("secret", [None, "", " ", "null", "None", "[]", "{}", "0", "false"])
def test_an_empty_or_missing_secret_never_authenticates(site, keys, secret):
    form = {"client_id": keys.client_id}
    if secret is not None:
        form["client_secret"] = secret
    assert post(site, form, status=401).json == REFUSED
    header = basic(keys.client_id, secret or "")
    assert post(site, {}, basic=header, status=401).json == REFUSED


@pytest.mark.control("T09")
@pytest.mark.parametrize("stored", ["", sha256(b"").hexdigest()])
def test_an_empty_secret_does_not_even_fit_a_client_that_is_stored_with_one(site, keys, stored):
    with site.db() as db:
        db.get(Client, uuid.UUID(keys.client_id)).secret_hash = stored
    for form in ({"client_id": keys.client_id}, {"client_id": keys.client_id, "client_secret": ""}):
        assert post(site, form, status=401).json == REFUSED


@pytest.mark.control("T09")
def test_a_client_without_a_second_secret_cannot_be_entered_through_it(site, keys):
    for secret in ("", "None", "null"):
        with site.db() as db:
            db.get(Client, uuid.UUID(keys.client_id)).previous_secret_hash = None
        post(site, {"client_id": keys.client_id, "client_secret": secret}, status=401)


@pytest.mark.control("T07")
def test_a_disabled_client_gets_the_same_answer_as_an_unknown_one(site, keys):
    with site.db() as db:
        service.disable(acting(db), uuid.UUID(keys.client_id))
    assert post(site, keys.form(), status=401).json == REFUSED


@pytest.mark.control("T08")
def test_a_secret_has_256_bits_and_only_its_sha_256_is_stored(site, keys):
    assert len(keys.client_secret) == 43
    with site.db() as db:
        row = db.get(Client, uuid.UUID(keys.client_id))
    assert row.secret_hash == sha256(keys.client_secret.encode()).hexdigest()
    assert keys.client_secret not in repr(vars(row))


@pytest.mark.control("T08")
def test_during_a_rotation_both_secrets_work_and_after_it_only_the_new_one(site, keys):
    def rotate(step):
        with site.db() as db:
            row = db.get(Client, uuid.UUID(keys.client_id))
            return step(acting(db), row)

    def works(secret):
        return post(site, keys.form(client_secret=secret), status="*").status_int == 200

    first = keys.client_secret
    second = rotate(service.rotate_secret)
    assert (works(first), works(second)) == (True, True)
    rotate(service.retire_secret)
    assert (works(first), works(second)) == (False, True)
    third = rotate(service.rotate_secret)
    fourth = rotate(service.rotate_secret)
    assert [works(secret) for secret in (first, second, third, fourth)] == [
        False, False, True, True,
    ]  # fmt: skip
