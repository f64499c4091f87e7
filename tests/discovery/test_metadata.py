"""GET /.well-known/oauth-authorization-server (RFC 8414)."""

import pytest

from tests.support.described import Described
from tests.support.host import hello
from tests.support.public import PublicApp, TlsProxy

PATH = "/.well-known/oauth-authorization-server"
AUTH_METHODS = ["client_secret_basic", "client_secret_post"]


def endpoints(issuer):
    return {
        "token_endpoint": f"{issuer}/v1/oauth/token",
        "introspection_endpoint": f"{issuer}/v1/oauth/introspect",
        "revocation_endpoint": f"{issuer}/v1/oauth/revoke",
    }


@pytest.mark.control("T25")
def test_the_document_names_what_this_server_has_and_nothing_else(site_with):
    """Without OpenID Connect; with it see tests/oidc/test_discovery.py."""
    site = site_with(
        base_url="https://auth.example.com",
        openid="off",
        scopes="notes:read: Read\nnotes:write: W",
    )
    answer = site.http.get(PATH)
    assert answer.json == {
        "issuer": "https://auth.example.com",
        **endpoints("https://auth.example.com"),
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "introspection_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "grant_types_supported": [
            "password",
            "client_credentials",
            "refresh_token",
            "urn:authsite:params:oauth:grant-type:mfa",
            "urn:authsite:params:oauth:grant-type:passkey",
        ],
        "response_types_supported": ["none"],
        "scopes_supported": ["notes:read", "notes:write"],
    }
    Described(site).fits(answer, "GET", PATH)


@pytest.mark.control("T25")
def test_the_named_endpoints_and_grants_exist(site):
    found = site.http.get(PATH).json
    assert "scopes_supported" not in found  # RFC 8414, section 3.2: no empty lists
    keys = site.client("personal")
    for kind in ("token", "introspection", "revocation"):
        path = found[f"{kind}_endpoint"].removeprefix(found["issuer"])
        for method in found[f"{kind}_endpoint_auth_methods_supported"]:
            basic = method == "client_secret_basic"
            site.http.authorization = (
                ("Basic", (keys.client_id, keys.client_secret)) if basic else None
            )
            form = {"token": "x", "grant_type": "client_credentials"}
            site.http.post(path, form if basic else keys.form(**form), status=200)
    site.http.authorization = None
    for grant in found["grant_types_supported"]:
        error = site.token(keys, "*", grant_type=grant).json.get("error")
        assert error != "unsupported_grant_type"


def test_a_grant_that_is_off_is_named_neither_here_nor_in_the_error_of_an_unknown_one(site_with):
    """Passkeys need a domain; OpenID Connect needs a base URL, and here it is off."""
    site = site_with(base_url="https://192.0.2.7", openid="off")
    named = site.http.get(PATH).json["grant_types_supported"]
    assert named == [
        *("password", "client_credentials", "refresh_token"),
        "urn:authsite:params:oauth:grant-type:mfa",
    ]
    told = site.token(site.client(), 400, grant_type="implicit").json["message"]
    *others, last = named
    assert told == f"Use one of the grant types {', '.join(others)} and {last}."


@pytest.mark.parametrize("strips", [False, True])
@pytest.mark.parametrize("path", [PATH, f"{PATH}/auth"])
def test_an_issuer_with_a_path_has_its_document_in_both_forms(site_with, strips, path):
    """Behind a proxy with a foreign Host, which removes the path or not."""
    issuer = "https://example.com/auth"
    site = site_with(base_url=issuer)
    public = PublicApp(TlsProxy(site.app, issuer, strips=strips), issuer)
    found = public.get(path).json
    assert found["issuer"] == issuer
    assert {key: found[key] for key in endpoints(issuer)} == endpoints(issuer)


def test_the_form_of_section_3_1_is_outside_of_the_path(site_with):
    site = site_with(base_url="https://example.com/auth")
    assert site.http.get(f"{PATH}/auth").json["issuer"] == "https://example.com/auth"
    for other in (f"{PATH}/", f"{PATH}/other", f"{PATH}/auth/v1"):
        assert site.http.get(other, status=404).json["errors"][0]["code"] == "not_found"


def test_of_several_issuers_each_has_its_own_document(site_with):
    urls = "https://one.example/a https://one.example/b.c https://two.example"
    site = site_with(base_url=urls, openid="off")

    def issuer(path, host):
        return site.http.get(path, headers={"Host": host}).json["issuer"]

    assert issuer(f"{PATH}/a", "one.example") == "https://one.example/a"
    assert issuer(f"{PATH}/b.c", "one.example") == "https://one.example/b.c"
    assert issuer(f"/b.c{PATH}", "one.example") == "https://one.example/b.c"
    assert issuer(PATH, "two.example") == "https://two.example"
    site.http.get(f"{PATH}/bxc", headers={"Host": "one.example"}, status=404)


@pytest.mark.parametrize("base_url", ["", "http://localhost/auth"])
@pytest.mark.parametrize("path", [f"/auth{PATH}", f"{PATH}/auth"])
def test_included_below_a_prefix_the_issuer_ends_with_it(host_with, base_url, path):
    def build(config):
        config.add_route("own", "/.well-known/own")
        config.add_view(hello, route_name="own")

    site = host_with(build, prefix="auth", base_url=base_url)
    found = site.http.get(path).json
    assert found["issuer"] == "http://localhost/auth"
    assert {key: found[key] for key in endpoints(found["issuer"])} == endpoints(found["issuer"])
    assert site.http.get("/.well-known/own").status_int == 200
    described = Described(HostPrefix(site)).document["paths"]
    assert f"/auth{PATH}" in described
    assert f"{PATH}/{{issuer_path}}" in described


class HostPrefix:
    """A site whose document is below the prefix."""

    def __init__(self, site):
        self.http = self
        self.get = lambda path: site.http.get(f"/auth{path}")


def test_a_foreign_host_cannot_change_the_issuer(site_with):
    site = site_with(base_url="https://auth.example.com")
    for headers in ({"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}):
        assert "evil" not in site.http.get(PATH, headers=headers).text


def test_clients_may_cache_it_for_minutes(site):
    answer = site.http.get(PATH)
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert answer.content_type == "application/json"
    again = site.http.get(PATH, headers={"If-None-Match": answer.headers["ETag"]}, status=304)
    assert not again.body
    assert site.http.head(PATH).headers["ETag"] == answer.headers["ETag"]


@pytest.mark.parametrize("listed", ["", "https://app.example"])
def test_trap_17_scripts_of_every_origin_may_read_it_and_its_errors(site_with, listed):
    """CORS was missing at discovery."""
    site = site_with(cors_origins=listed)
    for origin in ("https://app.example", "https://other.example", "null"):
        sent = {"Origin": origin}
        asked = sent | {"Access-Control-Request-Method": "GET"}
        for answer in (
            site.http.get(PATH, headers=sent, status=200),
            site.http.post(PATH, headers=sent, status=405),
            site.http.options(PATH, headers=asked, status=204),
        ):
            assert answer.headers["Access-Control-Allow-Origin"] == "*"
            assert "Access-Control-Allow-Credentials" not in answer.headers
            assert "Origin" not in answer.headers.get("Vary", "")  # a cache may keep it for all


def test_other_methods_get_405_in_json(site):
    answer = site.http.post(PATH, {}, status=405)
    assert answer.headers["Allow"] == "GET, HEAD"
    assert answer.json["errors"][0]["code"] == "method_not_allowed"
