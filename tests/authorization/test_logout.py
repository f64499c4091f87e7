"""RP-initiated logout: ``/oauth/logout`` (OpenID Connect RP-Initiated Logout 1.0)."""

from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from webtest import TestApp

from authsite.oauth.models import POST_LOGOUT, Client, ClientUri
from authsite.oauth.oidc.id_tokens import sign
from authsite.platform.runtime import clock
from authsite.platform.settings import new_sealing_key
from tests.support.acting import acting
from tests.support.authorizing import (
    BASE,
    OPENID,
    application,
    code_for,
    redeemed,
    sign_in,
    target_of,
)
from tests.support.pages import csrf_of
from tests.support.statements import counted

PATH = f"{BASE}/oauth/logout"
GOODBYE = "https://app.example.org/goodbye"
OTHER = "https://app.example.org/other?a=b"


@pytest.fixture
def app(issuer, ann):
    """An application with two addresses for after a logout."""
    made = application(issuer)
    register(issuer, made, GOODBYE, OTHER)
    return made


def register(site, app, *uris):
    with site.db() as db:
        for position, uri in enumerate(uris):
            of = {"id": uuid4(), "client_id": app.id, "kind": POST_LOGOUT}
            db.add(ClientUri(**of, uri=uri, position=position))


@pytest.fixture
def tokens(issuer, app):
    """What the application got for Ann, who is signed in with this browser."""
    return redeemed(issuer, app, code_for(issuer, app))


def hint_of(tokens):
    return tokens["id_token"]


def sent(hint=None, **more):
    given = {"id_token_hint": hint, "post_logout_redirect_uri": GOODBYE, "state": "st-9", **more}
    return {name: value for name, value in given.items() if value is not None}


def ask(site, hint=None, **more):
    """What a GET of the endpoint answers."""
    return site.http.get(f"{PATH}?{urlencode(sent(hint, **more))}", status="*")


def signed_in(site):
    return site.http.get(f"{BASE}/account", status="*").status_int == 200


def press(site, page, status=200):
    """Press the button of the page."""
    form = {"csrf_token": csrf_of(page), "decision": "sign_out"}
    return site.http.post(page.request.url, form, status=status)


def asks(page, status=200):
    """Whether an answer is the page with the button, and leads nowhere by itself."""
    return page.status_int == status and target_of(page) is None and 'value="sign_out"' in page.text


def hint(site, app, **claims):
    """An ID token that we have signed."""
    now = int(clock.now().timestamp())
    given = {
        "iss": BASE,
        "sub": str(uuid4()),
        "aud": app.client_id,
        "exp": now + 60,
        "iat": now,
        "sid": str(uuid4()),
        **claims,
    }
    return sign(acting(None, site.app.registry["authsite"]), given, "RS256")


def test_a_valid_hint_ends_the_session_and_leads_back_with_the_state(issuer, app, tokens):
    """rp-initiated-logout"""
    answer = ask(issuer, hint_of(tokens))
    assert (answer.status_int, answer.location) == (303, f"{GOODBYE}?state=st-9")
    assert not signed_in(issuer)
    assert issuer.events().count("session.ended") == 1
    again = ask(issuer, hint_of(tokens))  # with no session here
    assert (again.status_int, again.location) == (303, f"{GOODBYE}?state=st-9")
    assert issuer.events().count("session.ended") == 1


def test_the_tokens_of_the_session_end(issuer, app, tokens):
    assert issuer.http.get(
        f"{BASE}/v1/oauth/userinfo", headers={"Authorization": f"Bearer {tokens['access_token']}"}
    )
    ask(issuer, hint_of(tokens))
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    keys = {"client_id": app.client_id, "client_secret": app.client_secret}
    answer = issuer.http.post(f"{BASE}/v1/oauth/token", {**form, **keys}, status=400)
    assert answer.json["error"] == "invalid_grant"
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    issuer.http.get(f"{BASE}/v1/oauth/userinfo", headers=headers, status=401)


def test_trap_8_an_expired_hint_is_as_good(frozen, issuer, app, tokens):
    """Trap 8: the signature counts, ``exp`` does not."""
    frozen.advance(2 * 3600)
    answer = ask(issuer, hint_of(tokens))
    assert (answer.status_int, answer.location) == (303, f"{GOODBYE}?state=st-9")


@pytest.mark.parametrize("state", [None, "", "a b&c=d", "x" * 2048])
def test_the_state_comes_back_as_it_was_sent(issuer, app, tokens, state):
    """rp-initiated-logout-no-state"""
    target = f"{OTHER}&{urlencode({'state': state})}" if state else OTHER
    answer = ask(issuer, hint_of(tokens), post_logout_redirect_uri=OTHER, state=state)
    assert (answer.status_int, answer.location) == (303, target)


def test_without_a_uri_the_session_ends_on_our_page(issuer, app, tokens):
    """rp-initiated-logout-no-post-logout-redirect-uri"""
    answer = ask(issuer, hint_of(tokens), post_logout_redirect_uri=None)
    assert (answer.status_int, answer.location) == (303, f"{BASE}/?done=signed-out")
    assert not signed_in(issuer)


WRONG_URIS = (
    f"{GOODBYE}/",
    f"{GOODBYE}?a=b",
    GOODBYE.upper(),
    "https://app.example.org:443/goodbye",
    "https://app.example.org/x/../goodbye",
    "http://app.example.org/goodbye",
    "https://evil.example/",
    "https://app.example.org/callback",
    "//app.example.org/goodbye",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("uri", WRONG_URIS)
def test_a_uri_that_is_not_registered_leads_nowhere(issuer, app, tokens, uri):
    """rp-initiated-logout-bad- and -query-added-to-post-logout-redirect-uri"""
    page = ask(issuer, hint_of(tokens), post_logout_redirect_uri=uri)
    assert asks(page, 400)
    assert "not registered" in page.text
    assert signed_in(issuer)
    done = press(issuer, page, 303)
    assert done.location == f"{BASE}/?done=signed-out"
    assert not signed_in(issuer)


def test_the_uri_is_that_of_the_same_client(issuer, app, tokens):
    other = application(issuer, name="Other")
    register(issuer, other, "https://other.example/bye")
    asked = {"post_logout_redirect_uri": "https://other.example/bye"}
    assert asks(ask(issuer, hint_of(tokens), **asked), 400)
    assert asks(ask(issuer, **asked), 400)  # of no client at all
    page = ask(issuer, hint_of(tokens), client_id=other.client_id, **asked)
    assert asks(page, 400)  # the two do not agree
    assert signed_in(issuer)


def test_the_client_id_may_agree_with_the_hint(issuer, app, tokens):
    assert ask(issuer, hint_of(tokens), client_id=app.client_id).status_int == 303


def tampered(text):
    head, body, signature = text.split(".")
    return f"{head}.{body}.{signature[:-4]}{'AAAA' if signature[-4:] != 'AAAA' else 'BBBB'}"


@pytest.mark.parametrize("kind", ["no token", "changed", "access token", "other issuer", "long"])
def test_a_bad_hint_leads_nowhere(issuer, app, tokens, kind):
    """rp-initiated-logout-bad- and -modified-id-token-hint; never an access token"""
    bad = {
        "no token": "x",
        "changed": tampered(hint_of(tokens)),
        "access token": tokens["access_token"],
        "other issuer": hint(issuer, app, iss="https://evil.example"),
        "long": "x" * 7000,
    }[kind]
    for more in ({}, {"client_id": app.client_id}, {"post_logout_redirect_uri": None}):
        page = ask(issuer, bad, **more)
        assert asks(page, 400)
        assert signed_in(issuer)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"


def test_a_hint_of_a_type_that_is_no_id_token_is_bad(issuer, app, tokens):
    """One that our own key has signed, as a later access token might be (RFC 9068)."""
    from joserfc import jwt

    from authsite.oauth.oidc.keys.ring import ring_of, signer_in

    services = issuer.app.registry["authsite"]
    key = signer_in(ring_of(services).keys(services), "RS256")
    claims = {"iss": BASE, "sub": "x", "aud": app.client_id, "sid": "x"}
    header = {"typ": "at+jwt", "alg": "RS256", "kid": key.stored.kid}
    text = jwt.encode(header, claims, key.signer, algorithms=["RS256"])
    assert asks(ask(issuer, text), 400)


def test_a_hint_about_another_session_asks_and_then_leads_back(issuer, app, tokens):
    page = ask(issuer, hint(issuer, app))
    assert asks(page)
    assert "Wiki" in page.text
    assert "ann@example.com" in page.text
    assert signed_in(issuer)
    done = press(issuer, page)
    assert target_of(done) == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)


def test_trap_1_after_the_button_a_page_leads_back(issuer, app, tokens):
    """Trap 1: ``form-action`` holds for each hop after a form; so 200, never a redirect."""
    done = press(issuer, ask(issuer, client_id=app.client_id))
    assert done.status_int == 200
    assert "Location" not in done.headers
    assert target_of(done) == f"{GOODBYE}?state=st-9"


def test_without_a_hint_the_page_asks(issuer, app, tokens):
    """rp-initiated-logout-no-id-token-hint"""
    page = ask(issuer, client_id=app.client_id)
    assert asks(page)
    assert signed_in(issuer)
    assert target_of(press(issuer, page)) == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)
    assert issuer.events().count("session.ended") == 1


def test_without_a_session_the_page_asks_too(issuer, app):
    page = ask(issuer, client_id=app.client_id)
    assert asks(page)
    assert "not signed in" in page.text
    assert target_of(press(issuer, page)) == f"{GOODBYE}?state=st-9"


@pytest.mark.parametrize("query", ["", "state=st-9", "unknown=1&unknown=2"])
def test_with_no_parameters_the_page_asks(issuer, app, tokens, query):
    """rp-initiated-logout-no-params and -only-state"""
    page = issuer.http.get(f"{PATH}?{query}")
    assert asks(page)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"
    assert not signed_in(issuer)


def test_a_uri_without_a_client_leads_nowhere(issuer, app, tokens):
    page = ask(issuer)
    assert asks(page, 400)
    assert press(issuer, page, 303).location == f"{BASE}/?done=signed-out"


@pytest.mark.parametrize("client_id", ["x", str(UUID(int=7)), "2"])
def test_an_unknown_client_leads_nowhere(issuer, app, tokens, client_id):
    for more in ({}, {"post_logout_redirect_uri": None}):
        assert asks(ask(issuer, client_id=client_id, **more), 400)


def test_a_disabled_client_leads_nowhere_but_its_hint_is_valid(issuer, app, tokens):
    with issuer.db() as db:
        db.get(Client, app.id).disabled_at = clock.now()
    assert asks(ask(issuer, hint_of(tokens)), 400)
    assert signed_in(issuer)
    assert ask(issuer, hint_of(tokens), post_logout_redirect_uri=None).status_int == 303
    assert not signed_in(issuer)


REPEATED = ("id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales")


@pytest.mark.parametrize("name", REPEATED)
def test_a_repeated_parameter_leads_nowhere(issuer, app, tokens, name):
    given = sent(hint_of(tokens), client_id=app.client_id, ui_locales="en")
    page = issuer.http.get(f"{PATH}?{urlencode([*given.items(), (name, given[name])])}", status=400)
    assert asks(page, 400)
    assert signed_in(issuer)


@pytest.mark.parametrize("query", ["state=%FF", f"state={'x' * 2049}", "&".join(["a=b"] * 101)])
def test_a_query_that_cannot_be_read_leads_nowhere(issuer, app, tokens, query):
    assert asks(issuer.http.get(f"{PATH}?{query}", status=400), 400)


def test_trap_25_a_post_of_another_site_is_led_to_the_same_get(issuer, app, tokens):
    """Trap 25: it comes without the cookie, and the GET has it."""
    other = TestApp(issuer.app)
    form = sent(hint_of(tokens))
    answer = other.post(PATH, form, headers={"Origin": "https://app.example.org"}, status=303)
    assert answer.location == f"{PATH}?{urlencode(form)}"
    assert signed_in(issuer)
    assert issuer.http.get(answer.location, status=303).location == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_form_of_another_site_never_presses_the_button(issuer, app, tokens, origin):
    token = csrf_of(ask(issuer, client_id=app.client_id))
    form = {"decision": "sign_out", "csrf_token": token}
    issuer.http.post(PATH, form, headers={"Origin": origin}, status=303)
    assert signed_in(issuer)


def test_the_button_needs_its_csrf_token(issuer, app, tokens):
    page = ask(issuer, client_id=app.client_id)
    form = {"decision": "sign_out", "csrf_token": "x"}
    again = issuer.http.post(page.request.url, form, status="*")
    assert again.status_int >= 400
    assert 'value="sign_out"' in again.text
    assert signed_in(issuer)


def test_a_head_request_ends_nothing(issuer, app, tokens):
    issuer.http.head(f"{PATH}?{urlencode(sent(hint_of(tokens)))}", status=200)
    assert signed_in(issuer)


def test_a_hint_ends_the_session_of_its_user_from_a_browser_without_one(issuer, app, tokens):
    """A program's browser keeps no cookies, and its user signs out there all the same."""
    other = TestApp(issuer.app)
    answer = other.get(f"{PATH}?{urlencode(sent(hint_of(tokens)))}", status=303)
    assert answer.location == f"{GOODBYE}?state=st-9"
    assert not signed_in(issuer)


def test_the_hint_of_a_user_does_not_end_the_session_of_another(issuer, app, tokens):
    issuer.user("bo@example.com", confirmed=True)
    other = TestApp(issuer.app)
    issuer_http, issuer.http = issuer.http, other
    sign_in(issuer, "bo@example.com")
    assert asks(ask(issuer, hint_of(tokens)))
    assert signed_in(issuer)
    issuer.http = issuer_http
    assert signed_in(issuer)


def test_the_page_is_in_the_language_that_is_asked_for(issuer, app, tokens):
    page = ask(issuer, client_id=app.client_id, ui_locales="xx de-AT fr")
    assert '<html lang="de"' in page.text


def test_it_is_at_the_first_address_alone(site_with, request):
    site = site_with(base_url=f"{BASE} https://second.example.com")
    answer = site.http.get("https://second.example.com/oauth/logout?state=a", status=302)
    assert answer.location == f"{PATH}?state=a"
    answer = site.http.post("https://second.example.com/oauth/logout", {"state": "a"}, status=303)
    assert answer.location == f"{PATH}?state=a"


def test_with_openid_off_there_is_no_such_page(site_with):
    site = site_with(base_url=BASE, openid="off")
    site.http.get(PATH, status=404)
    site.http.post(PATH, status=404)


def test_the_metadata_name_it(issuer):
    """rp-initiated-logout-discovery-endpoint-verification"""
    found = issuer.http.get(f"{BASE}/.well-known/openid-configuration").json
    assert found["end_session_endpoint"] == PATH


def test_a_native_program_may_choose_its_port(issuer, ann):
    made = application(issuer, "native", redirect_uris=("http://127.0.0.1/cb",))
    register(issuer, made, "http://127.0.0.1/bye")
    page = ask(
        issuer,
        client_id=made.client_id,
        post_logout_redirect_uri="http://127.0.0.1:4711/bye",
        state=None,
    )
    assert target_of(press(issuer, page)) == "http://127.0.0.1:4711/bye"


def test_asking_writes_nothing(issuer, app, tokens):
    with counted(issuer.database) as statements:
        ask(issuer, client_id=app.client_id)
    assert not [each for each in statements if not each.startswith("SELECT")]


def test_without_a_usable_key_the_answer_is_a_page_with_503(site_with, sites):
    """`/logout` works as ever."""
    site = site_with(**OPENID, sealing_key=new_sealing_key())
    site.http.get(PATH, status=200)
    other = sites(**OPENID, sealing_key=new_sealing_key())
    page = other.http.get(PATH, status=503)
    assert page.content_type == "text/html"
    assert "Retry-After" in page.headers
    other.http.post(PATH, {"decision": "sign_out"}, status=503)
    other.http.get(f"{BASE}/logout", status=200)
