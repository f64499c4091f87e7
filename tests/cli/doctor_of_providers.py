"""What makes the lines of ``authsite doctor`` about other providers."""

from tests.support.doctor import line
from tests.support.fake_provider import fake_provider

CLOSED = "http://127.0.0.1:9"  # no server has this port


def with_provider(issuer, **variables):
    return {
        "AUTHSITE_BASE_URL": "https://auth.example.org",
        "AUTHSITE_PROVIDERS": "corp",
        "AUTHSITE_PROVIDERS_CORP_CLIENT_ID": "authsite",
        "AUTHSITE_PROVIDERS_CORP_CLIENT_SECRET": "of the provider",
        "AUTHSITE_PROVIDERS_CORP_ISSUER": issuer,
        **variables,
    }


def provider_redirect(found, _folder):
    message = line(found(**with_provider(CLOSED)), "provider-redirect", "providers.corp")
    assert "https://auth.example.org/login/with/corp/return" in message


def provider_address(found, _folder):
    variables = with_provider(CLOSED, AUTHSITE_BASE_URL=None)
    message = line(found(**variables), "provider-address", "providers.corp")
    assert "<base-url>/login/with/corp/return" in message


def provider_edov(found, _folder):
    entra = {
        "AUTHSITE_PROVIDERS_CORP_PRESET": "microsoft",
        "AUTHSITE_PROVIDERS_CORP_DOMAINS": "corp.example",
    }
    message = line(found(**with_provider(CLOSED, **entra)), "provider-edov", "providers.corp")
    assert "xms_edov" in message
    directory = with_provider(CLOSED, **entra, AUTHSITE_PROVIDERS_CORP_DOMAIN_AUTHORITY="on")
    assert not any("xms_edov" in each.message for each in found(**directory))


def provider_answers(found, _folder):
    with fake_provider("oidc") as provider:
        findings = found(**with_provider(provider.issuer))
        assert line(findings, "provider-answers", "providers.corp").endswith(": 1")


def provider_unusable(found, _folder):
    message = line(found(**with_provider(CLOSED)), "provider-unusable", "providers.corp")
    assert "does not accept a connection" in message
    with fake_provider("oidc") as provider:
        issuer = f"{provider.issuer}/"
        message = line(found(**with_provider(issuer)), "provider-unusable", "providers.corp")
        assert f"not {issuer!r}" in message
        provider.faults["/keys"] = lambda _: (200, {}, {"keys": []})
        variables = with_provider(provider.issuer)
        message = line(found(**variables), "provider-unusable", "providers.corp")
        assert "has no keys" in message
