"""Recognition does not depend on `limits`: with them off, too, a known address needs no code."""

from tests.support.mails import text_of
from tests.support.site import PASSWORD

SETTINGS = {"limits": "off", "unrecognized_login": "code"}


def attempt(site, keys, address):
    form = keys.form(grant_type="password", username="ann@example.com", password=PASSWORD)
    environ = {"REMOTE_ADDR": address}
    return site.http.post("/v1/oauth/token", form, status="*", extra_environ=environ)


def test_a_program_without_cookies_is_asked_once_at_an_address(site_with):
    site = site_with(**SETTINGS)
    site.user(confirmed=True)
    keys = site.client()
    asked = attempt(site, keys, "192.0.2.1")
    assert asked.json["error"] == "mfa_required"
    mfa_token = asked.json["mfa_token"]
    site.http.post("/v1/mfa/email", keys.form(mfa_token=mfa_token))
    code = text_of(site.mails()[-1]).split("\n    ")[1].split("\n")[0]
    form = keys.form(
        grant_type="urn:authsite:params:oauth:grant-type:mfa",
        mfa_token=mfa_token, mfa_method="email", code=code,
    )  # fmt: skip
    environ = {"REMOTE_ADDR": "192.0.2.1"}
    site.http.post("/v1/oauth/token", form, extra_environ=environ, status=200)
    assert attempt(site, keys, "192.0.2.1").status_int == 200
    assert attempt(site, keys, "198.51.100.1").json["error"] == "mfa_required"
