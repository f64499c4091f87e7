"""The domain of passkeys and the origins that may use them: from the settings alone."""

import json
import subprocess
import sys

import pytest

from authsite.platform.settings import SettingsError, load_at_start
from authsite.platform.settings.rules import passkey_obstacle, relying_party
from tests.support.settings import SECRET, settings

from .passkey_users import post, register, sign_in, sign_in_options

APP = "android:apk-key-hash:" + "a" * 43


def party(**given):
    return relying_party(settings({f"authsite.{name.replace('_', '-')}": value
                                   for name, value in given.items()}))  # fmt: skip


@pytest.mark.parametrize(
    ("base_url", "rp_id", "id", "origins"),
    [
        ("https://auth.example.org", None, "auth.example.org", ["https://auth.example.org"]),
        ("https://auth.example.org", "example.org", "example.org", ["https://auth.example.org"]),
        ("https://auth.example.org:8443/x", None, "auth.example.org",
         ["https://auth.example.org:8443"]),
        ("https://a.example.org https://b.example.org", "example.org", "example.org",
         ["https://a.example.org", "https://b.example.org"]),
        ("https://example.org https://b.example.org", None, "example.org",
         ["https://example.org", "https://b.example.org"]),
        ("http://localhost:6543", None, "localhost", ["http://localhost:6543"]),
        ("https://example.org http://a.example.org", None, "example.org", ["https://example.org"]),
    ],
)  # fmt: skip
def test_what_follows_from_the_addresses(base_url, rp_id, id, origins):
    given = {"passkey_rp_id": rp_id} if rp_id else {}
    found = party(base_url=base_url, **given)
    assert found.id == id
    assert found.origins_at("6543") == origins  # the port of the server does not matter here


def test_without_an_address_it_is_this_machine():
    found = party()
    assert found.id == "localhost"
    assert found.origins_at("6543") == ["http://localhost:6543"]
    assert found.origins_at("80") == found.origins_at(None) == ["http://localhost"]


def test_further_origins():
    given = f"https://shop.example {APP}"
    found = party(base_url="https://example.org", passkey_origins=given)
    assert found.origins_at(None) == ["https://example.org", "https://shop.example", APP]


@pytest.mark.parametrize(
    ("base_url", "rp_id"),
    [
        ("https://auth.example.org", "example.com"),
        ("https://auth.example.org", "other.example.org"),
        ("https://auth.example.org", "h.example.org"),
        ("https://auth.example.org", "org"),
        ("https://auth.example.co.uk", "co.uk"),
        ("https://ours.github.io", "github.io"),
        ("https://a.example.org https://b.example.net", "example.org"),
        ("https://192.0.2.1", "192.0.2.1"),
        ("", "example.org"),
    ],
)
def test_a_wrong_domain_does_not_start(base_url, rp_id):
    given = {"authsite.secret": SECRET, "authsite.passkey-rp-id": rp_id}
    if base_url:
        given["authsite.base-url"] = base_url
    with pytest.raises(SettingsError, match="passkey-rp-id"):
        load_at_start(given)


@pytest.mark.parametrize(
    "base_url",
    ["https://192.0.2.1", "https://[2001:db8::1]", "https://auth", "http://auth.example.org",
     "https://a.example.org https://b.example.org", "https://co.uk", "http://127.0.0.1:6543"],
)  # fmt: skip
def test_where_the_default_cannot_be_a_domain_there_are_none(base_url, capfd):
    given = {"authsite.secret": SECRET, "authsite.base-url": base_url}
    found = load_at_start(given)
    assert relying_party(found) is None
    assert passkey_obstacle(found)


def test_without_a_domain_the_pages_offer_none(site_with):
    site = site_with(base_url="https://192.0.2.1")
    page = site.http.get("https://192.0.2.1/login")
    assert "passkey" not in page.text
    assert "webauthn" not in page.text
    site.http.get("https://192.0.2.1/login/passkey/options", status=404)
    site.http.get("https://192.0.2.1/.well-known/webauthn", status=404)


def test_a_forged_host_changes_neither_domain_nor_origin(site_with):
    site = site_with(base_url="https://auth.example.org")
    own_url = "https://auth.example.org"
    user = site.user(confirmed=True)
    own = register(site, user, origin=own_url)
    page = site.http.get(f"{own_url}/login")
    headers = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        "Cookie": f"__Host-authsite-csrf={site.http.cookies['__Host-authsite-csrf']}",
    }
    found = site.http.get(f"{own_url}/login/passkey/options", headers=headers).json
    assert found["rpId"] == "auth.example.org"
    form = {"csrf_token": page.forms["passkey"]["csrf_token"].value}
    for origin, status in (("https://evil.example", 422), (own_url, 303)):
        form["credential"] = json.dumps(own.get(found, origin=origin))
        answer = site.http.post(f"{own_url}/login/passkey", form, status="*")
        assert answer.status_int == status


def test_the_port_is_that_of_the_server_not_of_the_host_header(site):
    own = register(site, site.user(confirmed=True))
    site.http.extra_environ["SERVER_PORT"] = "6543"
    credential = own.get(sign_in_options(site), origin="http://localhost:9999")
    site.http.extra_environ["HTTP_HOST"] = "localhost:9999"
    assert post(site, json.dumps(credential)).status_int == 422
    del site.http.extra_environ["HTTP_HOST"]
    assert sign_in(site, own, origin="http://localhost:6543").status_int == 303


def test_related_sites_are_published(site_with):
    site = site_with(base_url="https://example.org", passkey_origins=f"https://shop.example {APP}")
    answer = site.http.get("https://example.org/.well-known/webauthn")
    assert answer.content_type == "application/json"
    assert answer.json == {"origins": ["https://example.org", "https://shop.example"]}
    own = register(site, site.user(confirmed=True), origin=APP)
    assert own.id
    site = site_with(base_url="https://example.org", passkey_origins=APP)
    site.http.get("https://example.org/.well-known/webauthn", status=404)


def test_starting_the_application_imports_neither_library(tmp_path):
    """Each takes tens of milliseconds, in every worker and every command."""
    program = (
        "import sys; from authsite import main; "
        f"main({{}}, **{{'authsite.secret': {SECRET!r}, "
        f"'authsite.database-url': 'sqlite:///{tmp_path}/x.db'}}); "
        "print([each for each in ('webauthn', 'segno', 'cbor2') if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().splitlines()[-1] == "[]"
