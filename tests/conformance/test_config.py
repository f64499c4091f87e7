"""The module of the test plan "Config OP" of the OpenID Foundation."""


def test_oidcc_discovery_endpoint_verification(suite):
    """OpenID Connect Discovery 1.0, sections 3 and 4.3."""
    found = suite.metadata
    assert found["issuer"] == suite.issuer
    endpoints = ("authorization", "token", "userinfo", "end_session")
    urls = [found[f"{name}_endpoint"] for name in endpoints] + [found["jwks_uri"]]
    assert all(url.startswith(f"{suite.issuer}/") for url in urls)
    assert found["response_types_supported"] == ["code"]
    assert "authorization_code" in found["grant_types_supported"]
    assert found["subject_types_supported"] == ["public"]
    assert "RS256" in found["id_token_signing_alg_values_supported"]
    assert "none" not in found["id_token_signing_alg_values_supported"]
    assert "openid" in found["scopes_supported"]
    assert "sub" in found["claims_supported"]
    methods = {"client_secret_basic", "client_secret_post", "none"}
    assert methods <= set(found["token_endpoint_auth_methods_supported"])
    assert found["code_challenge_methods_supported"] == ["S256"]
    for name in ("request", "request_uri", "claims"):
        assert found[f"{name}_parameter_supported"] is False
    keys = suite.http.get(found["jwks_uri"]).json()["keys"]
    assert {key["alg"] for key in keys} == {"RS256", "ES256"}
    assert all(key["use"] == "sig" and key["kid"] and "d" not in key for key in keys)
    assert len({key["kid"] for key in keys}) == len(keys)
