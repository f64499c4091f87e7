"""An authorization code gives tokens, once, to the client that it was issued to."""

from datetime import timedelta

import pytest

from authsite.oauth.codes.models import AuthorizationCode
from authsite.sign_in import credentials
from tests.support.codes import (
    CALLBACK,
    VERIFIER,
    application,
    code_of,
    codes,
    openid_provider,
    redeem,
    session_of,
)
from tests.support.site import ClientKeys
from tests.support.statements import counted


def test_a_code_gives_tokens_and_an_id_token(site):
    app = application(site)
    code = code_of(site, app, "openid profile")
    assert code.startswith("ac_")
    answer = redeem(site, app, code)
    assert set(answer) == {
        "token_type", "expires_in", "access_token", "refresh_token", "scope", "id_token",
    }  # fmt: skip
    assert (answer["token_type"], answer["scope"]) == ("Bearer", "openid profile")
    assert site.introspect(app, answer["access_token"])["active"]
    assert site.events()[-1] == "token.issued"


def test_the_client_and_the_code_are_read_by_one_statement(site):
    app = application(site)
    redeem(site, app, code_of(site, app))
    code = code_of(site, app)
    with counted(site.database) as statements:
        redeem(site, app, code)
    words = [each.split()[0] for each in statements if not each.startswith(("BEGIN", "COMMIT"))]
    assert words == ["SELECT", "UPDATE", "INSERT", "INSERT"]


def test_without_its_secret_a_client_uses_no_code_up(site):
    app = application(site)
    code = code_of(site, app)
    wrong = ClientKeys(app.client_id, "wrong")
    assert redeem(site, wrong, code, 401)["error"] == "invalid_client"
    assert codes(site)[0].used_at is None
    redeem(site, app, code)
    assert redeem(site, wrong, code, 401)["error"] == "invalid_client"
    assert "code.reused" not in site.events()


def test_without_openid_there_is_no_id_token(site):
    app = application(site)
    assert "id_token" not in redeem(site, app, code_of(site, app, "profile"))


def test_the_family_has_what_the_code_has(site):
    app = application(site)
    session = session_of(site)
    redeem(site, app, code_of(site, app, "openid", audience=None))
    [family], [code] = site.families(), codes(site)
    assert (family.id, family.session_id) == (code.id, session.id)
    assert (family.auth_at, family.granted_scope) == (session.auth_at, "openid")
    assert credentials.unpack(family.facts) == credentials.Facts(third_party=True)
    assert code.used_at == family.created_at


def test_the_device_is_that_of_the_person_and_not_the_server_of_the_application(site):
    app, session = application(site), session_of(site)
    code = code_of(site, app)
    site.http.extra_environ["HTTP_USER_AGENT"] = "an application"
    redeem(site, app, code)
    [family] = site.families()
    assert (family.address, family.agent) == (session.address, session.agent)
    assert family.agent != "an application"


def test_the_facts_name_the_audience_and_a_first_party(site):
    app = application(site, first_party=True)
    redeem(site, app, code_of(site, app, audience="https://api.example.com/"))
    [family] = site.families()
    known = credentials.Facts(audience="https://api.example.com/", third_party=False)
    assert credentials.unpack(family.facts) == known


def test_redirect_uri_may_be_left_out_but_not_differ(site):
    app = application(site)
    code = code_of(site, app)
    redeem(site, app, code, 400, redirect_uri=f"{CALLBACK}/")
    redeem(site, app, code, redirect_uri=None)


@pytest.mark.parametrize("wrong", [None, VERIFIER[:-1] + "x"])
def test_a_wrong_or_missing_verifier_changes_nothing(site, wrong):
    app = application(site)
    code = code_of(site, app)
    answer = redeem(site, app, code, 400, verifier=wrong)
    assert answer["error"] == "invalid_grant"
    assert codes(site)[0].used_at is None
    redeem(site, app, code)


@pytest.mark.parametrize("wrong", ["x" * 42, "x" * 129, VERIFIER + "!", VERIFIER + "\n"])
def test_a_malformed_verifier_is_refused(site, wrong):
    app = application(site)
    code = code_of(site, app, verifier=wrong)
    answer = redeem(site, app, code, 400, verifier=wrong)
    assert answer["error"] == "invalid_request"
    assert answer["error_description"].startswith("code_verifier: Send 43 to 128 characters:")


def test_a_verifier_for_a_code_without_challenge_is_refused(site):
    """A lost challenge is a downgrade (RFC 9700, section 4.8.2)."""
    app = application(site)
    code = code_of(site, app, verifier=None)
    assert redeem(site, app, code, 400)["error"] == "invalid_grant"
    redeem(site, app, code, verifier=None)


def test_without_a_challenge_the_redirect_uri_is_repeated(site):
    app = application(site)
    code = code_of(site, app, verifier=None)
    answer = redeem(site, app, code, 400, verifier=None, redirect_uri=None)
    assert answer["error"] == "invalid_grant"
    assert "redirect_uri" in answer["error_description"]
    assert codes(site)[0].used_at is None
    redeem(site, app, code, verifier=None)


def test_an_expired_code_is_refused(frozen, site):
    app = application(site)
    code = code_of(site, app)
    frozen.advance(61)
    assert redeem(site, app, code, 400)["error"] == "invalid_grant"
    assert codes(site)[0].used_at is None


@pytest.mark.parametrize("code", ["", "ac_", "ac_" + "A" * 88, "at_x"])
def test_what_is_no_code_is_refused(site, code):
    assert redeem(site, application(site), code, 400)["error"] in {
        "invalid_grant",
        "invalid_request",
    }


def test_the_row_of_a_code_may_be_gone(site):
    app = application(site)
    code = code_of(site, app)
    with site.db() as db:
        db.query(AuthorizationCode).delete()
    assert redeem(site, app, code, 400)["error"] == "invalid_grant"


def test_a_code_of_another_client_changes_nothing(site):
    """The client is checked first, also where the code was used."""
    app, other = application(site), application(site)
    code = code_of(site, app)
    redeem(site, other, code, 400)
    assert codes(site)[0].used_at is None
    tokens = redeem(site, app, code)
    redeem(site, other, code, 400)
    assert site.introspect(app, tokens["access_token"])["active"]
    assert "code.reused" not in site.events()


def test_a_second_use_ends_the_tokens_of_the_first_one(site):
    """The family has the id of the code."""
    app = application(site)
    code = code_of(site, app)
    tokens = redeem(site, app, code)
    tokens = site.refresh(app, tokens["refresh_token"])
    assert redeem(site, app, code, 400)["error"] == "invalid_grant"
    assert not site.introspect(app, tokens["access_token"])["active"]
    site.refresh(app, tokens["refresh_token"], status=400)
    assert site.events().count("code.reused") == 1
    redeem(site, app, code, 400)
    assert site.events().count("code.reused") == 1


def test_a_second_use_is_noticed_for_a_day(frozen, site):
    app = application(site)
    code = code_of(site, app)
    tokens = redeem(site, app, code)
    frozen.advance(timedelta(hours=23).total_seconds())
    redeem(site, app, code, 400)
    site.refresh(app, tokens["refresh_token"], status=400)
    assert "code.reused" in site.events()


def test_who_has_seen_a_used_code_without_its_verifier_ends_nothing(site):
    app = application(site)
    code = code_of(site, app)
    tokens = redeem(site, app, code)
    redeem(site, app, code, 400, verifier="x" * 43)
    assert site.introspect(app, tokens["access_token"])["active"]


def test_failed_codes_count_in_the_limit_of_clients(site_with):
    site = openid_provider(site_with, limits="on", **{"limits.client_auth": "3/minute"})
    app = application(site)
    good = code_of(site, app)
    for _ in range(3):
        redeem(site, app, "ac_wrong", 400)
    redeem(site, app, "ac_wrong", 429)
    redeem(site, app, good)  # a right code is never refused


@pytest.mark.parametrize("type", ["native", "browser"])
def test_a_public_client_redeems_a_code_by_its_id(site, type):
    app = application(site, type=type, secret_hash="")
    code = code_of(site, app)
    with_secret = redeem(site, app, code, 401)
    assert with_secret["error"] == "invalid_client"
    public = ClientKeys(app.client_id, "")
    assert redeem(site, public, code)["id_token"]


def test_a_code_waits_for_the_resource_that_it_was_granted(site):
    """Another one is refused, and changes nothing (RFC 8707, section 2.2)."""
    app = application(site)
    code = code_of(site, app)
    answer = redeem(site, app, code, 400, resource="https://api.example.com/")
    assert answer["error"] == "invalid_target"
    redeem(site, app, code)
