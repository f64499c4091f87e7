"""What makes the lines of ``authsite doctor`` about OpenID Connect and its keys."""

from datetime import UTC, datetime

from sqlalchemy import delete, update

from authsite.checks.features import openid_findings
from authsite.oauth.oidc.keys.rotation import make_missing
from authsite.oauth.oidc.keys.stored import SigningKey
from authsite.platform.settings import new_sealing_key
from tests.support.doctor import line

ON = {"AUTHSITE_BASE_URL": "https://auth.example.org"}


def openid_on(found, _folder):
    assert "https://auth.example.org" in line(found(**ON), "openid-on", "openid")


def openid_off(found, _folder):
    assert "base-url is not set" in line(found(), "openid-off", "openid")
    plain = found(AUTHSITE_BASE_URL="http://auth.example.org")
    assert "https://" in line(plain, "openid-off", "openid")


def openid_set_off(found, _folder):
    line(found(**ON, AUTHSITE_OPENID="off"), "openid-set-off", "openid")


def openid_included(found, _folder):
    found(**ON)  # sets the variables
    services = found.site.app.registry["authsite"]
    line(list(openid_findings(services, standalone=False)), "openid-included", "openid")


def signing_keys_none(found, _folder):
    line(found(**ON), "signing-keys-none", "signing-keys")


def signing_key_signs(found, _folder):
    make_missing(found.site.app.registry["authsite"])
    findings = found(**ON)
    for alg in ("RS256", "ES256"):
        line(findings, "signing-key-signs", f"signing-keys.{alg}")


def signing_key_overdue(found, _folder):
    make_missing(found.site.app.registry["authsite"])
    with found.site.db() as db:
        signing = SigningKey.current_at.is_not(None)
        db.execute(
            update(SigningKey).where(signing).values(current_at=datetime(2020, 1, 1, tzinfo=UTC))
        )
    assert "janitor" in line(found(**ON), "signing-key-overdue", "signing-keys.RS256")
    by_hand = found(**ON, AUTHSITE_SIGNING_KEY_ROTATION="0")
    line(by_hand, "signing-key-signs", "signing-keys.RS256")


def signing_key_unusable(found, _folder):
    make_missing(found.site.app.registry["authsite"])
    with found.site.db() as db:
        db.execute(delete(SigningKey).where(SigningKey.current_at.is_(None)))
    other = {"AUTHSITE_SECRET": new_sealing_key(), "AUTHSITE_SEALING_KEY": new_sealing_key()}
    for alg in ("RS256", "ES256"):
        message = line(found(**ON, **other), "signing-key-unusable", f"signing-keys.{alg}")
        assert "authsite keys rotate --now" in message
