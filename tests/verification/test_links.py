"""Signed URLs: everything but the very link that was mailed is refused, and never a 500."""

from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from authsite.platform.crypto.keys import KeyRing
from authsite.platform.runtime import clock
from authsite.verification.links import PURPOSE, sign
from tests.support.site import SECRET

INVALID = "invalid_signature"


@pytest.fixture
def user(site):
    return site.user()


def path_for(
    site, user, *, lifetime=timedelta(hours=1), address=None, secret=SECRET, purpose=PURPOSE
):
    url = sign(
        KeyRing([secret], purpose), "http://localhost", user.id, address or user.email,
        clock.now() + lifetime,
    )  # fmt: skip
    return url.removeprefix("http://localhost")


def code_of(site, path, method="GET"):
    answer = site.http.request(path, method=method, expect_errors=True)
    assert answer.status_int in (200, 403, 404), answer
    return answer.json["errors"][0]["code"] if answer.status_int != 200 else None


def test_the_link_as_it_was_made_is_good(site, user):
    assert code_of(site, path_for(site, user)) is None


@pytest.mark.control("F03")
def test_no_character_of_the_link_can_be_another(site, user):
    path = path_for(site, user)
    start = path.index("/verify/") + len("/verify/")
    for at in range(start, len(path)):
        other = "0" if path[at] != "0" else "1"
        changed = path[:at] + other + path[at + 1 :]
        assert code_of(site, changed) in (INVALID, "not_found", "expired_signature"), changed
    with site.db() as db:
        assert db.get(type(user), user.id).email_verified_at is None


@pytest.mark.control("F03")
@pytest.mark.parametrize(
    "change",
    [
        lambda p: p + "&x=1",
        lambda p: p + "&x=",
        lambda p: p + "&",
        lambda p: p + "&x",
        lambda p: p + "&" + p.partition("?")[2].partition("&")[0],  # the same again
        lambda p: p + "&expires=9999999999",
        lambda p: p.replace("?", "?x=1&"),
        lambda p: p + "&signature=" + "0" * 64,
        lambda p: p.replace("expires=", "Expires="),
        lambda p: p[:-1],
        lambda p: p + "0",
        lambda p: p.split("&")[0],
        lambda p: p.split("?")[0],
        lambda p: p.split("?")[0] + "?" + p.split("&")[1],
        lambda p: p.split("signature=")[0] + "signature=" + p.split("signature=")[1].upper(),
        lambda p: p.replace("/verify/", "/verify//"),
        lambda p: p.replace("signature=", "signature=%20"),
        lambda p: p.replace("&", "&;"),
        lambda p: p + "#",
        lambda p: p + "%00",
        lambda p: p + "%ff",
    ],
)
def test_a_changed_query_is_refused(site, user, change):
    path = change(path_for(site, user))
    if path.endswith("#"):
        path = path[:-1] + "%23"
    assert code_of(site, path) in (INVALID, "not_found")


def test_the_same_two_parameters_in_the_other_order_are_still_the_link(site, user):
    parts = urlsplit(path_for(site, user))
    expires, signature = parts.query.split("&")
    assert code_of(site, f"{parts.path}?{signature}&{expires}") is None


@pytest.mark.control("F05")
@pytest.mark.parametrize(
    "expires", ["١٢٣", "%D9%A1%D9%A2", "1_0", "-1", "1e9", "+99", " 99", "", "9" * 13, "9" * 5000]
)
def test_an_odd_expiry_is_refused_and_no_500(site, user, expires):
    head, tail = path_for(site, user).split("?expires=")
    assert code_of(site, f"{head}?expires={expires}&{tail.split('&')[1]}") == INVALID


def test_the_error_of_an_expired_link_is_its_own(site, user):
    path = path_for(site, user, lifetime=timedelta(seconds=-1))
    assert code_of(site, path) == "expired_signature"


def test_a_link_expires_at_the_very_second(site, user, frozen):
    path = path_for(site, user)
    frozen.advance(3599)
    assert code_of(site, path, "HEAD") is None
    frozen.advance(1)
    assert code_of(site, path) == "expired_signature"


@pytest.mark.control("F04")
def test_a_changed_expired_link_is_invalid_before_it_is_expired(site, user):
    path = path_for(site, user, lifetime=timedelta(seconds=-1))
    assert code_of(site, path[:-1] + ("0" if path[-1] != "0" else "1")) == INVALID


@pytest.mark.control("F04")
def test_no_such_user_a_wrong_address_and_a_wrong_signature_are_one_answer(site, user):
    site_responses = {
        site.http.get(path, status=403).body
        for path in (
            path_for(site, user, address="other@example.com"),
            path_for(site, user)[:-4] + "0000",
            path_for(site, type(user)(id=uuid4(), email=user.email)),
        )
    }
    assert len(site_responses) == 1


@pytest.mark.control("F16")
@pytest.mark.parametrize("purpose", ["reset password", "access token", "refresh token", "csrf"])
def test_a_key_for_another_purpose_signs_no_link(site, user, purpose):
    assert code_of(site, path_for(site, user, purpose=purpose)) == INVALID


def test_a_link_signed_before_the_secret_was_replaced_still_works(site_with):
    new = "aNewSecretForTheNextYears-8d7f6s5a4p3o2i1u"
    rotated = site_with(secret=f"{new} {SECRET}")
    user = rotated.user()
    assert code_of(rotated, path_for(rotated, user, secret=SECRET)) is None
    other = rotated.user("bo@example.com")
    assert code_of(rotated, path_for(rotated, other, secret=new)) is None
