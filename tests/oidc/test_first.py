from authsite.oauth.oidc.id_tokens import claims_of, sign
from tests.support.acting import acting


def test_a(site_with):
    site = site_with(base_url="https://auth.example.com")
    print(site.http.get("/.well-known/jwks.json").json)
    ctx = acting(None, site.app.registry["authsite"])
    for alg in ("RS256", "ES256"):
        t = sign(ctx, {"iss": "https://auth.example.com", "sub": "x", "no": None}, alg)
        assert claims_of(ctx, t) == {"iss": "https://auth.example.com", "sub": "x"}
