"""What counts as a bearer token in a header (RFC 6750, section 2.1)."""

import pytest

from authsite_client import InvalidToken, MissingToken
from authsite_client.bearer import check_token, read_bearer


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer   "])
@pytest.mark.parametrize("token", ["at_AbC-019", "a", "a-._~+/==", "x" * 4096])
def test_the_token_of_a_wellformed_header_is_read(scheme, token):
    assert check_token(read_bearer(scheme + token)) == token


@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "at_abc", "Digest x", "Bea rer x"])
def test_another_scheme_is_no_token(header):
    with pytest.raises(MissingToken) as raised:
        read_bearer(header)
    assert raised.value.challenge == 'Bearer realm="authsite"'


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearerx",
        "Bearer\tat_abc",
        " Bearer at_abc"[1:] + " ",
        "Bearer at_abc x",
        "Bearer at_abc, Bearer at_def",
        "Bearer at_abc,Bearer at_abc",
        'Bearer "at_abc"',
        "Bearer at_\xe9",
        "Bearer at_\u017f",
        "Bearer =",
        "Bearer a=b",
        "Bearer at_abc\n",
        "Bearer at_abc\x00",
        "Bearer " + "x" * 4097,
        "Bearer rt_abc",
    ],
)
def test_a_malformed_token_is_invalid(header):
    """A refresh token (``rt_``) is none: introspection would say that it is active."""
    with pytest.raises(InvalidToken) as raised:
        check_token(read_bearer(header))
    assert raised.value.challenge == 'Bearer realm="authsite", error="invalid_token"'
