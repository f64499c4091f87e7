"""The settings of other providers: ``authsite.providers.<name>.<key>``."""

from datetime import timedelta

import pytest

from authsite.platform.settings import Secret
from authsite.platform.settings.files import folder_errors
from authsite.platform.settings.provider_values import SENT
from tests.support.settings import message, settings

TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
LOGIN = "https://login.microsoftonline.com"


def ini(name="corp", **keys):
    """One provider with what is required."""
    given = {"client_id": "authsite", "client_secret": "given", **keys}
    if name == "corp":
        given = {"issuer": "https://idp.example/", **given}
    given = {key: value for key, value in given.items() if value is not None}
    return {
        "authsite.providers": name,
        **{f"authsite.providers.{name}.{key}": value for key, value in given.items()},
    }


def provider(name="corp", **keys):
    [found] = settings(ini(name, **keys)).providers
    return found


def test_without_the_setting_there_is_no_provider():
    assert settings().providers == settings({"authsite.providers": " "}).providers == ()


def test_the_order_of_the_names_is_kept_and_keys_of_others_may_stay():
    cfg = settings(ini("google") | ini("corp") | {"authsite.providers": "corp google"})
    assert [each.name for each in cfg.providers] == ["corp", "google"]
    assert cfg.provider("google").label == "Google"
    assert cfg.provider("github") is None
    assert settings(ini("google") | {"authsite.providers": ""}).providers == ()


@pytest.mark.parametrize(
    ("name", "label", "issuer", "scope", "trusted"),
    [
        ("google", "Google", "https://accounts.google.com", "openid email profile", True),
        ("microsoft", "Microsoft", f"{LOGIN}/common/v2.0", "openid email profile", False),
        ("github", "GitHub", "https://github.com", "read:user user:email", True),
        ("gitlab", "GitLab", "https://gitlab.com", "openid email profile", False),
    ],
)
def test_a_name_of_a_preset_sets_its_defaults(name, label, issuer, scope, trusted):
    found = provider(name, **({"tenants": "*"} if name == "microsoft" else {}))
    assert (found.preset, found.label, found.issuer) == (name, label, issuer)
    assert (found.scope, found.trust_email) == (tuple(scope.split()), trusted)
    assert (found.create, found.link, found.domain_authority) == (True, "ask", False)


def test_any_other_name_is_openid_connect_and_its_own_label():
    found = provider()
    assert (found.preset, found.label, found.trust_email) == ("oidc", "corp", False)
    assert (found.issuer, found.client_id) == ("https://idp.example/", "authsite")
    assert found.client_secret == Secret("given")
    assert "given" not in repr(found)


def test_a_preset_may_have_another_name_and_every_default_another_value():
    found = provider(
        "hub",
        preset="github",
        issuer="https://github.corp.example",
        label="Our GitHub",
        scope="user:email",
        trust_email="off",
        create="off",
        link="off",
        session_expires_in="12h",
        domains="Corp.example bücher.example",
        domain_authority="on",
        extra="hd=corp.example access_type=a=%2F",
        icon="hub.svg",
    )
    assert (found.preset, found.label, found.icon) == ("github", "Our GitHub", "hub.svg")
    assert (found.scope, found.trust_email, found.create) == (("user:email",), False, False)
    assert (found.link, found.session_expires_in) == ("off", timedelta(hours=12))
    assert found.domains == ("corp.example", "xn--bcher-kva.example")
    assert found.domain_authority
    assert found.extra == (("hd", "corp.example"), ("access_type", "a=%2F"))


def test_variables_and_files_have_the_keys_too(tmp_path):
    (tmp_path / "secret").write_text("from a file\n")
    cfg = settings(
        {"authsite.providers.google.client-id": "of the ini"},
        AUTHSITE_PROVIDERS="google",
        AUTHSITE_PROVIDERS_GOOGLE_CLIENT_ID="of the variable",
        AUTHSITE_PROVIDERS_GOOGLE_CLIENT_SECRET_FILE=str(tmp_path / "secret"),
    )
    [found] = cfg.providers
    assert (found.client_id, found.client_secret.reveal()) == ("of the variable", "from a file")


def test_an_identity_belongs_to_the_issuer_of_its_provider():
    assert provider().issues("https://idp.example/")
    assert not provider().issues("https://idp.example")
    entra = provider("microsoft", tenants=TENANT)
    assert entra.issues(f"{LOGIN}/{TENANT}/v2.0")
    for other in (f"{LOGIN}/common/v2.0", f"{LOGIN}/x/v2.0", f"https://evil.example/{TENANT}/v2.0"):
        assert not entra.issues(other)


@pytest.mark.parametrize(
    ("keys", "key", "advice"),
    [
        ({"client_id": None}, "client-id", "copy it from the registration"),
        ({"client_secret": ""}, "client-secret", "copy it from the registration"),
        ({"issuer": None}, "issuer", "give the URL of the provider"),
        ({"issuer": "http://idp.example"}, "issuer", "https://"),
        ({"issuer": "idp.example"}, "issuer", "give the URL"),
        ({"issuer": "https://idp.example/?x=1"}, "issuer", "without a query"),
        ({"issuer": f"https://idp.example/{'x' * 181}"}, "issuer", "at most 200 characters"),
        ({"preset": "facebook"}, "preset", "give google, microsoft, github, gitlab or oidc"),
        ({"scope": "email profile"}, "scope", "add openid"),
        ({"link": "on"}, "link", "give ask or off"),
        ({"tenants": TENANT}, "tenants", "preset = microsoft"),
        ({"preset": "microsoft", "tenants": "corp"}, "tenants", "give tenant ids"),
        ({"preset": "microsoft", "tenants": f"* {TENANT}"}, "tenants", "give tenant ids"),
        ({"icon": "https://cdn.example/x.svg"}, "icon", "static-folder"),
        ({"extra": "hd"}, "extra", "give name=value"),
        ({"extra": "hd=a hd=b"}, "extra", "give hd once"),
        *(({"extra": f"{name}=x"}, "extra", f"give no {name}") for name in sorted(SENT)),
    ],
)
def test_a_wrong_key_stops_the_start_with_what_to_write(keys, key, advice):
    said = message(ini(**keys))
    assert f"authsite.providers.corp.{key}" in said
    assert advice in said
    assert "One setting is wrong" in said


@pytest.mark.parametrize("issuer", [None, f"{LOGIN}/common/v2.0", f"{LOGIN}/organizations/v2.0"])
def test_the_common_endpoints_of_entra_need_tenants(issuer):
    assert "or * for all" in message(ini("microsoft", issuer=issuer))
    assert provider("microsoft", issuer=issuer, tenants="*").tenants == ("*",)
    assert provider("microsoft", issuer=f"{LOGIN}/{TENANT}/v2.0").tenants == ()


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://127.0.0.1:8080/realm"])
def test_a_provider_on_this_machine_may_have_http(url):
    assert provider(issuer=url).issuer == url


@pytest.mark.parametrize("name", ["Corp", "my-corp", "x" * 33, "a/b"])
def test_a_name_has_lower_case_letters_and_digits(name):
    assert "at most 32 characters a-z and 0-9" in message({"authsite.providers": name})


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("corp.clientid", "did you mean authsite.providers.corp.client-id?"),
        ("corp.trust-mail", "did you mean authsite.providers.corp.trust-email?"),
        ("corp.x", "there are preset, client-id, client-secret"),
        ("my-corp.client-secret", "the name of a provider has at most 32 characters"),
    ],
)
def test_an_unknown_key_is_answered_with_a_known_one_and_hides_its_value(key, advice):
    said = message({f"authsite.providers.{key}": "hush"})
    assert advice in said
    assert "hush" not in said


def test_providers_send_people_back_to_an_https_address():
    insecure = {"authsite.base-url": "http://auth.example https://auth.example"}
    assert "give an https address first" in message(ini() | insecure)
    for base_url in ("https://auth.example http://auth.example", "http://localhost:6543", ""):
        assert settings(ini() | {"authsite.base-url": base_url}).providers


def test_an_icon_is_a_file_that_exists(tmp_path):
    (tmp_path / "hub.svg").touch()
    folder = {"authsite.static-folder": str(tmp_path)}
    assert not list(folder_errors(settings(ini(icon="hub.svg") | folder)))
    [error] = folder_errors(settings(ini(icon="bub.svg") | folder))
    assert error.key == "authsite.providers.corp.icon"
    assert "no such file in static-folder" in error.message


def two(first, second, **more):
    """Two providers; each a dict of keys."""
    values = {"authsite.providers": "corp staff"}
    for name, keys in (("corp", first), ("staff", second)):
        given = {"client_id": "authsite", "client_secret": "given", **keys}
        values |= {f"authsite.providers.{name}.{key}": value for key, value in given.items()}
    return values | more


IDP = {"issuer": "https://idp.example"}
COMMON = {"preset": "microsoft", "tenants": f"{TENANT} {TENANT[:-1]}1"}
DIRECTORY = {"preset": "microsoft", "issuer": f"{LOGIN}/{TENANT}/v2.0"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (IDP, IDP),
        ({"preset": "github"}, {"preset": "github"}),
        (COMMON, COMMON),
        (COMMON, DIRECTORY),
        (COMMON, {"issuer": f"{LOGIN}/{TENANT}/v2.0"}),
        (COMMON | {"tenants": "*"}, DIRECTORY),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_second_provider_of_one_issuer_would_let_in_whom_domains_refuse(first, second, swapped):
    domains = {"domains": "corp.example"}
    limited = two(second, first | domains) if swapped else two(first | domains, second)
    name, other = ("staff", "corp") if swapped else ("corp", "staff")
    text = message(limited)
    assert f"authsite.providers.{name}.domains" in text
    assert f"the provider {other} has the same issuer" in text
    assert len(settings(two(first, second)).providers) == 2
    both = message(two(first | domains, second | domains))
    assert "has the same issuer" in both


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (IDP, {"issuer": "https://idp.example/"}),
        (COMMON | {"tenants": f"{TENANT[:-1]}1"}, DIRECTORY),
        (COMMON | {"tenants": f"{TENANT[:-1]}1"}, COMMON | {"tenants": TENANT}),
    ],
)
def test_providers_of_different_issuers_may_limit_whom_they_like(first, second):
    limited = {"domains": "corp.example"}
    assert len(settings(two(first | limited, second)).providers) == 2
