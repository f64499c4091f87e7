"""What makes the lines of ``authsite doctor`` about passkeys."""

from tests.support import factors
from tests.support.doctor import line

ON = {"AUTHSITE_BASE_URL": "https://auth.example.org"}


def passkeys_off(found, _folder):
    address = {"AUTHSITE_BASE_URL": "https://192.0.2.7"}
    line(found(**address), "passkeys-off", "passkey-rp-id")


def passkeys_on(found, _folder):
    found(**ON)  # makes the site
    factors.add_passkey(found.site, found.site.user(), rp_id="auth.example.org")
    assert "auth.example.org" in line(found(**ON), "passkeys-on", "passkey-rp-id")


def passkeys_foreign(found, _folder):
    found(**ON)
    factors.add_passkey(found.site, found.site.user(), rp_id="old.example.org")
    assert "old.example.org" in line(found(**ON), "passkeys-foreign", "passkey-rp-id")
