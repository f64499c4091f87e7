"""A refused way to a provider: what the person reads, and what the operator."""

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from authsite.platform.audit.models import AuditEvent
from authsite.sign_in.methods.provider import ProviderFailure
from tests.providers.people import arrive, come_back, send, users
from tests.support.in_process import Commands
from tests.support.pages import csrf_of, sign_in
from tests.support.site import PASSWORD

# What may be gone after some minutes, without anybody doing something.
PASSES = {ProviderFailure.KEY, ProviderFailure.PROVIDER_BUSY, ProviderFailure.UNREACHABLE}


def refusal(site):
    """The details of the newest refusal."""
    with site.db() as db:
        found = select(AuditEvent).where(AuditEvent.event == "provider.refused")
        return db.scalars(found.order_by(AuditEvent.id.desc())).first().details


def buttons(page):
    return [each.get_text() for each in page.html.select("main a.button")]


@pytest.mark.parametrize("failure", ProviderFailure)
def test_only_what_passes_by_itself_asks_to_wait(failure):
    says = "few minutes" in failure.page.sentence
    assert says is (failure in PASSES)
    assert failure.meaning
    assert failure.page.title


@pytest.mark.parametrize("failure", ProviderFailure)
def test_what_is_for_the_operator_to_mend_offers_no_other_try(failure):
    if failure.page.status == 503 and failure not in PASSES:
        assert failure.page.next.name == "OTHER_WAY"
        assert "the number below" in failure.page.sentence


@pytest.mark.parametrize(
    "error", ["consent_required", "login_required", "interaction_required", "invalid_scope", "odd"]
)
def test_an_error_that_is_no_cancellation_is_told_to_the_operator(
    site_of, providers, tmp_path, error
):
    fake = providers("oidc")
    site = site_of(fake)
    description = "AADSTS65001: The user or administrator has not consented.\r\n\u202e" + "x" * 400
    fake.return_error, fake.return_more = error, {"error_description": description}
    with capture_logs() as logs:
        page = come_back(site, fake)
    [logged] = [each for each in logs if each["event"] == "provider_refused"]
    assert (logged["error"], "AADSTS65001" in logged["description"]) == (error, True)
    assert page.status_int == 503
    assert "Canceled" not in page.text
    assert buttons(page) == ["Other ways to sign in"]
    details = refusal(site)
    assert (details["reason"], details["error"]) == ("provider_error", error)
    assert details["description"].startswith("AADSTS65001: The user or administrator has not")
    assert "\\r\\n\\u202e" in details["description"]
    assert len(details["description"]) == 300
    request_id = page.headers["X-Request-Id"]
    assert request_id in page.text
    assert "AADSTS" not in page.text
    explained = Commands(site, tmp_path).run("explain", request_id).stdout
    assert f"error: {error}" in explained
    assert "AADSTS65001" in explained


def test_a_cancellation_keeps_what_the_provider_says_too(site_of, google):
    site = site_of(google)
    google.return_error = "access_denied"
    google.return_more = {"error_description": "the group admins is missing"}
    page = come_back(site, google)
    assert page.html.h1.get_text() == "Canceled"
    details = refusal(site)
    assert (details["error"], details["description"]) == (
        "access_denied",
        "the group admins is missing",
    )


def test_a_rejected_client_secret_has_the_words_of_the_provider(site_of, google):
    site = site_of(google)
    google.faults["/token"] = lambda _: (
        401,
        {},
        {"error": "invalid_client", "error_description": "AADSTS7000222: it has expired"},
    )
    page = come_back(site, google)
    assert "few minutes" not in page.text
    details = refusal(site)
    assert (details["reason"], details["error"]) == ("token", "invalid_client")
    assert details["description"] == "AADSTS7000222: it has expired"


def test_an_id_token_without_a_nonce_is_said_to_lack_it(site_of, providers, tmp_path):
    fake = providers("oidc")
    fake.claims["nonce"] = None
    site = site_of(fake)
    page = come_back(site, fake)
    assert page.status_int == 503
    assert "few minutes" not in page.text
    assert refusal(site)["reason"] == "nonce_missing"
    explained = Commands(site, tmp_path).run("explain", page.headers["X-Request-Id"]).stdout
    assert "The ID token has no `nonce`" in explained


@pytest.mark.parametrize("claims", [{"sub": 12345}, {}])
def test_a_subject_that_is_a_number_is_named(site_of, providers, tmp_path, claims):
    fake = providers("oidc")
    fake.claims |= claims
    if not claims:
        fake.profile = {"sub": 248289761001}
    site = site_of(fake)
    page = come_back(site, fake)
    explained = Commands(site, tmp_path).run("explain", page.headers["X-Request-Id"]).stdout
    assert "not a text, such as a number" in explained
    assert ("in the profile (userinfo)" in explained) is not claims
    assert "12345" not in refusal(site).get("cause", "")


def test_a_wrong_claim_is_shown_beside_what_was_expected(site_of, providers):
    fake = providers("oidc")
    fake.claims["aud"] = "another-client"
    site = site_of(fake)
    come_back(site, fake)
    details = refusal(site)
    assert (details["sent"], details["expected"]) == ("aud=another-client", "our-client")


@pytest.fixture
def down(site_of, providers):
    """A site whose provider does not answer, and a signed-in user with a linked identity."""
    fake = providers("oidc")
    site = site_of(fake)
    site.user("bo@example.com", confirmed=True)
    sign_in(site, "bo@example.com")
    fake.faults["/.well-known/openid-configuration"] = lambda _: (502, {}, b"Bad gateway")
    return site, fake


@pytest.mark.parametrize("purpose", ["sign-in", "link", "confirm"])
def test_a_provider_that_is_down_has_a_page_with_the_request_id(down, tmp_path, purpose):
    site, fake = down
    page = site.http.get("/login?prompt=login")
    answer = site.http.post(
        f"/login/with/{fake.name}",
        {
            "csrf_token": csrf_of(page),
            "purpose": purpose,
            "current_password": PASSWORD,
            "next": "/account/security",
        },
        status=503,
    )
    request_id = answer.headers["X-Request-Id"]
    assert request_id in answer.html.main.get_text()
    details = refusal(site)
    assert (details["reason"], details["provider"]) == ("unreachable", fake.name)
    assert "status 502" in details["cause"]
    explained = Commands(site, tmp_path).run("explain", request_id).stdout
    assert "could not be reached or did not answer in time" in explained
    if purpose == "sign-in":
        assert buttons(answer) == [f"Try again with {fake.name}", "Other ways to sign in"]
    else:
        assert buttons(answer) == ["Back"]
        assert answer.html.select_one("main a.button")["href"] == "/account/security"


def test_a_failure_at_the_return_leads_a_signed_in_user_back_to_the_account(site_of, google):
    site = site_of(google)
    send(arrive(site, google), "/create")
    assert users(site)
    google.return_error = "access_denied"
    answer = come_back(site, google, purpose="confirm")
    assert buttons(answer) == ["Your account"]
