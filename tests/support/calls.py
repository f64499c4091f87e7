"""One call of each kind, and what it answers while the storage cannot serve it."""

from tests.support.site import PASSWORD, bearer

LOGIN_FORM = {"username": "ann@example.com", "password": PASSWORD}
REGISTER = {"email": "bo@example.com", "password": "purple wolf 77 tea"}


def every_call(site, tokens):
    """One call of each kind, by name; each answers 200 or 201 while all is well."""
    access = bearer(tokens["access_token"])
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    http = site.http
    return {
        "guard": lambda: http.get("/v1/user", headers=access, status="*"),
        "password": lambda: http.post(
            "/v1/oauth/token", site.keys.form(grant_type="password", **LOGIN_FORM), status="*"
        ),
        "refresh": lambda: http.post("/v1/oauth/token", site.keys.form(**refresh), status="*"),
        "proxy login": lambda: http.post("/v1/clients/web/login", LOGIN_FORM, status="*"),
        "proxy refresh": lambda: http.post("/v1/clients/web/refresh", refresh, status="*"),
        "register": lambda: http.post("/v1/register", REGISTER, status="*"),
        "introspect": lambda: http.post(
            "/v1/oauth/introspect", site.keys.form(token=tokens["access_token"]), status="*"
        ),
        "logout": lambda: http.delete("/v1/logout", headers=access, status="*"),
        "revoke": lambda: http.post(
            "/v1/oauth/revoke", site.keys.form(token=tokens["access_token"]), status="*"
        ),
    }


def assert_unavailable(answer, name):
    """503 with Retry-After in the words of the path: never 401, never invalid_grant."""
    assert answer.status_int == 503, name
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.headers["Cache-Control"] == "no-store"
    if "error" in answer.json:
        assert answer.json["error"] == "temporarily_unavailable"
    else:
        assert [e["code"] for e in answer.json["errors"]] == ["temporarily_unavailable"]
