"""Made-up tokens: refused by the MAC alone, before any query."""

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

import pytest

from authsite.oauth.tokens.format import ACCESS, REFRESH
from tests.support.codec import TokenCodec
from tests.support.extent import volume
from tests.support.statements import counted

FOREIGN = TokenCodec(["some other site's secret 8mK2nQwR5tYuIo9PaSdF"])


def flipped_texts(text):
    """The token with each bit of its text flipped, as far as a header can carry it."""
    for at in range(len(text)):
        for bit in range(8):
            changed = chr(ord(text[at]) ^ (1 << bit))
            if changed.isprintable():
                yield text[:at] + changed + text[at + 1 :]


def flipped_contents(text):
    """The token with each bit of its 66 bytes flipped, spelled as a token is."""
    content = urlsafe_b64decode(text[3:])
    for bit in range(len(content) * 8):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield text[:3] + urlsafe_b64encode(changed).decode()


def rubbish(tokens):
    """Texts that no codec of ours has made for this purpose."""
    access, refresh = tokens["access_token"], tokens["refresh_token"]
    yield from ("", "x", ACCESS, "null", "undefined", "0", "at_" + "A" * 88, "a" * 512, "at_" * 30)
    yield from (refresh, ACCESS + refresh[3:], access[3:], access[:-1], access + "A", access * 2)
    yield from (access.upper(), access.swapcase(), access + "=", access[:-4] + "====")
    yield FOREIGN.encode(ACCESS, _family(access), 0, 2**40)
    for _ in range(20):
        yield ACCESS + urlsafe_b64encode(secrets.token_bytes(66)).decode()


def _family(token):
    from uuid import UUID

    return UUID(bytes=urlsafe_b64decode(token[3:])[:16])


@pytest.fixture
def tokens(site):
    site.user()
    return site.login(site.client())


@pytest.mark.control("T01")
@pytest.mark.control("T04")
@pytest.mark.parametrize("flips", [flipped_texts, flipped_contents])
def test_flipping_any_bit_of_an_access_token_gets_401_without_a_query(site, tokens, flips):
    token = tokens["access_token"]
    site.me(token)
    made = list(flips(token))
    assert len(made) >= 66 * 8
    with counted(site.database) as statements:
        for text in made:
            site.me(text, status=401)
    assert statements == []


@pytest.mark.control("T04")
def test_rubbish_instead_of_a_token_gets_401_without_a_query(site, tokens):
    with counted(site.database) as statements:
        for text in rubbish(tokens):
            site.me(text, status=401)
    assert statements == []


@pytest.mark.control("T04")
def test_an_expired_token_gets_401_without_a_query(site, tokens, frozen):
    frozen.advance(11 * 365 * 86400)
    with counted(site.database) as statements:
        site.me(tokens["access_token"], status=401)
    assert statements == []


def test_a_good_token_costs_exactly_one_statement(site, tokens):
    with counted(site.database) as statements:
        site.me(tokens["access_token"])
    assert len(statements) == 1
    assert statements[0].lstrip().startswith("SELECT")


@pytest.mark.control("T01")
def test_a_flipped_refresh_token_is_refused_and_touches_no_family(site):
    keys = site.client("personal")
    token = site.token(keys, grant_type="client_credentials").json["refresh_token"]
    with counted(site.database) as statements:
        for text in list(flipped_contents(token))[::5]:
            assert site.refresh(keys, text, status=400)["error"] == "invalid_grant"
    assert [text for text in statements if "families" in text] == []
    site.refresh(keys, token)


@pytest.mark.control("T01")
def test_many_tokens_have_no_repeats_and_no_common_family_ids(site):
    count = volume(100, 1000)
    keys = site.client("personal")
    seen = []
    for _ in range(count):
        made = site.token(keys, grant_type="client_credentials").json
        seen += [made["access_token"], made["refresh_token"]]
    assert len(set(seen)) == 2 * count
    assert {text[:3] for text in seen} == {ACCESS, REFRESH}
    assert len({_family(text) for text in seen}) == count
