"""Whom each preset tells, with answers as the provider's documentation describes them.

Google: "OpenID Connect", "An ID token's payload" (developers.google.com/identity/openid-connect;
the page has no date in the copy that we read in November 2026). Microsoft Entra: "ID token claims
reference" (30 May 2023) and "Optional claims reference" (10 April 2024), both below
learn.microsoft.com/en-us/entra/identity-platform. GitHub: "Authorizing OAuth apps" (Enterprise
Server 3.20) and "REST API endpoints for emails" (API version 2022-11-28), docs.github.com. GitLab:
"GitLab as OpenID Connect identity provider" (17.6, November 2024), docs.gitlab.com.
"""

from datetime import UTC, datetime

import pytest

from authsite.platform.runtime import clock
from tests.support.fake_provider import DIRECTORY

TRUSTS = {"trust_email": True}
CORP = {"domains": ("corp.example",)}


def test_google_tells_subject_address_and_name(trips):
    fake = trips.to("google")
    fake.subject = "110169484474386276334"
    fake.claims = {
        "azp": "our-client",
        "email": "jsmith@gmail.com",
        "email_verified": True,
        "name": "John Smith",
        "picture": "https://lh3.googleusercontent.com/a/photo",
        "locale": "en",
    }
    provided = trips.trip(fake)
    assert (provided["issuer"], provided["subject"]) == (fake.issuer, "110169484474386276334")
    assert (provided["email"], provided["trusted"], provided["name"]) == (
        "jsmith@gmail.com", True, "John Smith",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("claims", "trusted"),
    [
        ({"email": "ann@gmail.com", "email_verified": True}, True),
        ({"email": "Ann@GMAIL.com", "email_verified": True}, True),
        ({"email": "ann@gmail.com", "email_verified": False}, False),
        ({"email": "ann@gmail.com", "email_verified": None}, False),
        ({"email": "ann@gmail.com", "email_verified": "true"}, True),
        ({"email": "ann@gmail.com", "email_verified": "false"}, False),
        ({"email": "ann@corp.example", "email_verified": True}, False),
        ({"email": "ann@corp.example", "email_verified": True, "hd": "corp.example"}, True),
        ({"email": "ann@corp.example", "email_verified": True, "hd": "CORP.example"}, True),
        ({"email": "ann@corp.example", "email_verified": True, "hd": "other.example"}, False),
        ({"email": "ann@sub.corp.example", "email_verified": True, "hd": "corp.example"}, False),
        ({"email": "ann@corp.example", "email_verified": False, "hd": "corp.example"}, False),
    ],
)
def test_google_is_trusted_with_its_own_addresses_and_hosted_domains(trips, claims, trusted):
    fake = trips.to("google")
    fake.claims |= claims
    assert trips.trip(fake)["trusted"] is trusted


def test_domains_of_google_are_hosted_domains(trips):
    fake = trips.to("google", **CORP)
    fake.claims |= {"email": "ann@corp.example", "hd": None}
    refused = trips.trip(fake)
    assert (refused["reason"], refused["status"]) == ("domain", 403)
    fake.claims["hd"] = "other.example"
    assert trips.reason(fake) == "domain"
    fake.claims |= {"hd": "corp.example", "email": "ann@gmail.com"}
    assert trips.trip(fake)["allowed"] is True


def test_microsoft_tells_a_directory_and_a_subject(trips):
    fake = trips.to("microsoft", **TRUSTS)
    fake.subject = "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ"
    fake.header = {"typ": "JWT", "x5t": "1LTMzakihiRla_8z2BEJVXeWMqo"}
    fake.claims |= {"ver": "2.0", "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474", "uti": "fqi"}
    provided = trips.trip(fake)
    assert provided["issuer"] == f"{fake.url}/{DIRECTORY}/v2.0"
    assert (provided["subject"], provided["email"]) == (fake.subject, "ann@corp.example")


@pytest.mark.parametrize(
    ("claims", "trust_email", "trusted"),
    [
        ({"xms_edov": True}, True, True),
        ({"xms_edov": "1"}, True, True),
        ({"xms_edov": True}, False, False),
        ({"xms_edov": None}, True, False),
        ({"xms_edov": False}, True, False),
        ({"xms_edov": "0"}, True, False),
        ({"xms_edov": 1}, True, False),
        ({"xms_edov": None, "email_verified": True}, True, False),
        ({"xms_edov": False, "email_verified": True}, True, False),
        ({"xms_edov": True, "email": None, "preferred_username": "a@corp.example"}, True, False),
    ],
)
def test_an_address_of_microsoft_is_free_text_unless_its_domain_was_verified(
    trips, claims, trust_email, trusted
):
    """An attacker's directory may hold any address (nOAuth)."""
    fake = trips.to("microsoft", trust_email=trust_email)
    fake.claims |= claims
    assert trips.trip(fake)["trusted"] is trusted


def test_what_microsoft_says_of_one_address_does_not_count_for_the_profiles(trips):
    fake = trips.to("microsoft", **TRUSTS)
    fake.claims |= {"email": None, "xms_edov": True}
    fake.profile = {"email": "boss@corp.example"}
    provided = trips.trip(fake)
    assert (provided["email"], provided["trusted"]) == ("boss@corp.example", False)


def test_github_tells_its_number_and_the_primary_verified_address(trips):
    fake = trips.to("github")
    fake.emails = [
        {"email": "octocat@github.com", "verified": True, "primary": False, "visibility": None},
        {"email": "octo@example.com", "verified": True, "primary": True, "visibility": "public"},
    ]
    provided = trips.trip(fake)
    assert (provided["issuer"], provided["subject"]) == (fake.issuer, "583231")
    assert (provided["email"], provided["trusted"]) == ("octo@example.com", True)
    assert (provided["name"], provided["auth_time"]) == ("The Octocat", None)
    assert fake.paths[-2:] == ["/api/v3/user", "/api/v3/user/emails"]


@pytest.mark.parametrize(
    "emails",
    [
        [],
        {"message": "Not Found"},
        [{"email": "ann@example.com", "primary": True, "verified": False}],
        [{"email": "ann@example.com", "primary": False, "verified": True}],
        [{"email": "ann@example.com", "primary": True}],
        [{"email": None, "primary": True, "verified": True}],
        [{"email": "no address", "primary": True, "verified": True}],
        ["ann@example.com", None],
    ],
)
def test_no_other_address_of_github_is_taken(trips, emails):
    fake = trips.to("github")
    fake.user["email"] = "ann@example.com"  # the public one, which may be unverified
    fake.emails = emails
    provided = trips.trip(fake)
    assert (provided["email"], provided["trusted"], provided["reason"]) == (None, False, None)


def test_github_without_the_scope_for_addresses_tells_none(trips):
    fake = trips.to("github")
    fake.faults["/api/v3/user/emails"] = lambda _request: (404, {}, {"message": "Not Found"})
    assert trips.trip(fake)["email"] is None


@pytest.mark.parametrize("number", [None, "583231", True, 0, -1, 5.5, 10**400])
def test_github_without_a_number_is_refused(trips, number):
    fake = trips.to("github")
    fake.user["id"] = number
    assert trips.reason(fake) == "subject"


def test_github_gets_pkce_and_neither_nonce_nor_prompt(trips):
    fake = trips.to("github")
    sent = trips.sent(fake, purpose="confirm", login_hint="ann@example.com")
    assert not {"nonce", "prompt", "max_age", "login_hint"} & set(sent)
    assert (sent["code_challenge_method"], sent["scope"]) == ("S256", "read:user user:email")


def test_github_rejects_a_code_with_the_status_of_a_success(trips):
    fake = trips.to("github")
    back = fake.authorize(trips.start(fake))
    fake.codes.clear()
    answer = trips.back(back)
    assert (answer["reason"], answer["status"]) == ("code", 400)


@pytest.mark.parametrize("preset", ["gitlab", "oidc"])
def test_a_verified_address_of_gitlab_and_others_counts_with_trust_email(trips, preset):
    fake = trips.to(preset)
    assert trips.trip(fake)["trusted"] is False
    trips.set(fake, **TRUSTS)
    assert trips.trip(fake)["trusted"] is True
    fake.claims["email_verified"] = "true"  # as Amazon Cognito writes it
    assert trips.trip(fake)["trusted"] is True
    for verified in (False, None, "false", "True", "1", 1, ["true"]):
        fake.claims["email_verified"] = verified
        assert trips.trip(fake)["trusted"] is False


def test_gitlab_tells_the_groups_and_we_take_none(trips):
    fake = trips.to("gitlab")
    fake.claims |= {"nickname": "ann", "groups": ["corp", "corp/admins"], "auth_time": 1700000000}
    fake.profile = {"groups": ["corp"], "picture": "https://gitlab.com/uploads/ann.png"}
    assert set(trips.trip(fake)) == {
        *("provider", "issuer", "subject", "email", "trusted", "name", "allowed", "auth_time"),
        *("vouched", "doubt", "asked_scope", "answered_scope", "prompted"),
        *("purpose", "remember", "next", "session_id", "reason"),
    }


def test_the_profile_completes_the_token(trips):
    """OpenID Connect Core 1.0, section 5.4: the claims of scopes come with the profile."""
    fake = trips.to(**TRUSTS)
    fake.claims = {}
    fake.profile = {"email": "ann@example.com", "email_verified": True, "name": "Ann\u202e\n Lee "}
    provided = trips.trip(fake)
    assert (provided["email"], provided["trusted"], provided["name"]) == (
        "ann@example.com",
        True,
        "Ann Lee",
    )


@pytest.mark.parametrize(
    ("claims", "profile", "trusted"),
    [
        ({}, {"email": "ann@example.com", "email_verified": True}, True),
        ({}, {"email": "other@example.com", "email_verified": True}, False),
        ({}, {"email": "ann@example.com"}, False),
        ({"email_verified": False}, {"email": "ann@example.com", "email_verified": True}, False),
    ],
)
def test_an_address_of_the_token_is_verified_by_what_is_said_of_itself(
    trips, claims, profile, trusted
):
    fake = trips.to(**TRUSTS)
    fake.claims = {"email": "ann@example.com", **claims}
    fake.profile = profile
    provided = trips.trip(fake)
    assert (provided["email"], provided["trusted"]) == ("ann@example.com", trusted)


@pytest.mark.parametrize("email", ["boss@example.com\n", "no address", 7, "=?a?=@example.com"])
def test_an_address_that_is_not_one_is_none(trips, email):
    fake = trips.to(**TRUSTS)
    fake.claims["email"] = email
    provided = trips.trip(fake)
    assert (provided["email"], provided["trusted"], provided["reason"]) == (None, False, None)


def test_domains_are_those_of_the_address_that_is_told(trips):
    fake = trips.to(**CORP)
    for email, allowed in (("ann@corp.example", True), ("ann@CORP.EXAMPLE", True), (None, None)):
        fake.claims["email"] = email
        assert trips.trip(fake)["allowed"] is allowed
    for email in ("ann@example.com", "ann@sub.corp.example", "corp.example@example.com"):
        fake.claims["email"] = email
        assert trips.reason(fake) == "domain"


@pytest.mark.parametrize("own", [CORP, {}], ids=["domains", "registration-domains"])
@pytest.mark.parametrize(
    ("preset", "claims", "trusted"),
    [
        ("github", {}, False),
        ("oidc", {}, False),
        ("google", {"hd": "corp.example"}, True),
        ("microsoft", {"xms_edov": True}, True),
    ],
)
def test_an_address_of_our_own_domain_needs_authority_over_it(
    trips_with, own, preset, claims, trusted
):
    """The GitHub account of a former employee still shows the company's address."""
    with trips_with(registration_domains="" if own else "corp.example") as trips:
        fake = trips.to(preset, **TRUSTS, **own)
        fake.claims |= {"email": "ann@corp.example", **claims}
        fake.emails = [{"email": "ann@corp.example", "primary": True, "verified": True}]
        assert trips.trip(fake)["trusted"] is trusted
        trips.set(fake, domain_authority=True, **TRUSTS, **own)
        assert trips.trip(fake)["trusted"] is True


@pytest.mark.parametrize(
    ("ahead", "provided"), [(-86400, True), (60, True), (61, False), (float("inf"), False)]
)
def test_a_time_of_proof_of_more_than_a_minute_ahead_counts_as_none(trips, frozen, ahead, provided):
    fake = trips.to()
    seconds = fake.claims["auth_time"] = clock.now().timestamp() + ahead
    expected = str(datetime.fromtimestamp(seconds, UTC)) if provided else None
    assert trips.trip(fake, purpose="confirm")["auth_time"] == expected
