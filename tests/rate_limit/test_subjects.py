"""Whom a limit counts: users, clients and requests, each once, and each for itself."""

from uuid import uuid4

import pytest
from pyramid_retry import RetryableException

from authsite.platform.rate_limit.recognized import Owner
from tests.support.site import PASSWORD, SECRET, WEB, ClientKeys, Site, bearer

NEWER = "pW7xTz2QkVb9-mYc4RfLd8HsJn3GuEa6ViK5oX1B"
LIMITS = {"limits": "on", "limits_login_address": "900/minute"}
NAMES = {"login_identifiers": "email username phone", "phone_region": "DE"}
ANN = {"username": "annlee", "phone": "+49 30 901820"}
SPELLINGS = ("ann@example.com", "annlee", "030 901820")


def guesses(site, keys, names, **where):
    return [site.try_login(keys, username=name, **where).status_int for name in names]


def test_l7_all_login_names_of_a_user_are_one_account(site_with, frozen):
    """L7: three names are not three times five guesses."""
    site = site_with(**LIMITS, **NAMES)
    site.user(**ANN)
    seen = guesses(site, site.client(), SPELLINGS * 4)
    assert seen == [400] * 5 + [429] * 7


def test_l7_with_enumeration_prevented_each_name_is_counted_apart(site_with, frozen):
    """L7: a shared count would tell that two names are one user's."""
    site = site_with(**LIMITS, **NAMES, prevent_enumeration="true")
    site.user(**ANN)
    keys = site.client()
    for name in (*SPELLINGS, "nobody@example.com"):
        assert guesses(site, keys, [name] * 6) == [400] * 5 + [429]


@pytest.mark.parametrize("prevent", ["false", "true"])
def test_l7_a_reset_opens_the_account_under_every_name(site_with, frozen, prevent):
    """L7: the owner who reset the password logs in with any name, from anywhere."""
    site = site_with(**LIMITS, **NAMES, prevent_enumeration=prevent)
    user, keys = site.user(**ANN), site.client()
    for name in SPELLINGS:
        guesses(site, keys, [name] * 6, address="198.51.100.1")
    new = "a purple wolf at tea 77"
    body = {"email": user.email, "token": site.reset_token(user), "password": new}
    site.http.post_json("/v1/password/reset", body, status=200)
    # Each from a separate address: a login makes its address a recognized one.
    for number, name in enumerate(SPELLINGS):
        answer = site.try_login(keys, new, username=name, address=f"203.0.113.{number}")
        assert answer.status_int == 200


def test_l7_a_browser_is_recognized_under_every_name(site_with, frozen):
    """L7: the device cookie belongs to the user, whichever name was typed."""
    site = site_with(**LIMITS, **NAMES, **WEB)
    site.user(**ANN)
    keys = site.first_party("web")
    form = {"username": "annlee", "password": PASSWORD}
    site.http.post("/v1/clients/web/login", form)
    cookie = site.http.cookies["device"]
    site.http.reset()
    guesses(site, keys, ["ann@example.com"] * 6, address="198.51.100.1")
    answer = site.try_login(
        keys, PASSWORD, username="030 901820", address="203.0.113.9", Cookie=f"device={cookie}"
    )
    assert answer.status_int == 200


def test_no_login_name_counts_for_another_user(site_with, frozen):
    """What a stranger types as a name never draws on the count of a user."""
    site = site_with(**LIMITS, **NAMES)
    user, keys = site.user(**ANN), site.client()
    for text in (str(user.id), f"user {user.id}", f"?user {user.id}"):
        guesses(site, keys, [text] * 6, address="198.51.100.1")
    assert site.try_login(keys, PASSWORD, address="203.0.113.9").status_int == 200


def test_l6_ever_new_client_ids_are_one_count_per_address(site_with, frozen):
    """L6: 80 random ids from one address are refused after 20, and leave one counter."""
    site = site_with(limits="on")
    keys = site.client("personal")
    made_up = [ClientKeys(str(uuid4()), "x") for _ in range(60)] + [ClientKeys("y" * 9, "x")] * 20
    form = {"grant_type": "client_credentials"}
    seen = [site.http.post("/v1/oauth/token", each.form(**form), status="*") for each in made_up]
    assert [answer.status_int for answer in seen] == [401] * 20 + [429] * 60
    with site.db() as db:
        keys_of = db.connection().exec_driver_sql("SELECT key FROM limit_counters").scalars()
        counted = [key for key in keys_of if "client-auth" in key and "exceeded" not in key]
    assert len(counted) == 1
    site.token(keys, grant_type="client_credentials")  # a client that exists is counted apart


def test_m5_changes_of_login_names_are_limited(site_with, frozen):
    """M5: PATCH /v1/user does not reveal which users have a username."""
    site = site_with(limits="on", **NAMES)
    site.user(**ANN)
    site.user("bob@example.com", username="bobby")
    headers = bearer(site.login(site.client())["access_token"])

    def patch(**fields):
        return site.http.patch_json("/v1/user", fields, headers=headers, status="*").status_int

    assert [patch(username="bobby") for _ in range(12)] == [422] * 10 + [429] * 2
    assert patch(phone="+49 30 901821") == 429
    # What stays as it is asks nothing.
    assert [patch(name="Ann", username="annlee") for _ in range(3)] == [200] * 3
    assert patch(username="") == 200


def test_m9_one_token_cannot_make_the_audit_trail_grow_at_will(site_with, frozen):
    """M9: each change of the profile is a row that is kept for a year, so they are limited."""
    site = site_with(limits="on", limits_profile="3/hour")
    site.user()
    headers = bearer(site.login(site.client())["access_token"])
    seen = [
        site.http.patch_json("/v1/user", {"name": f"Ann {n}"}, headers=headers, status="*")
        for n in range(5)
    ]
    assert [answer.status_int for answer in seen] == [200] * 3 + [429] * 2
    assert site.events().count("user.changed") == 3


def test_s2_a_new_secret_leaves_all_counts_as_they_are(site_with, database_url, frozen):
    """S2: putting a new secret before the old one does not open a closed account."""
    site = site_with(**LIMITS)
    site.user()
    keys = site.client()
    assert site.try_login(keys, PASSWORD, address="192.0.2.7").status_int == 200
    assert guesses(site, keys, ["ann@example.com"] * 6) == [400] * 5 + [429]
    rotated = Site(database_url, **LIMITS, secret=f"{NEWER} {SECRET}")
    assert rotated.try_login(keys, PASSWORD).status_int == 429
    assert rotated.try_login(keys, PASSWORD, address="192.0.2.7").status_int == 200
    rotated.database.dispose()


def retried(host_with, view):
    """A host whose view at /v1/it is run up to three times."""

    def build(config):
        config.include("pyramid_retry")
        config.add_route("it", "/v1/it")
        config.add_view(view, route_name="it", renderer="json")

    return host_with(build, limits="on")


def test_s7_a_request_that_is_run_again_counts_once(site_with, host_with, frozen):
    """S7: pyramid_retry runs the same request again, and the limits see one."""
    runs = []

    def view(request):
        runs.append(1)
        request.authsite.ctx.limits.count("register-address", "x")
        with request.authsite.ctx.limits.login("name", Owner("name")) as attempt:
            attempt.succeeded = False
        if len(runs) % 3:
            raise RetryableException
        return {}

    host = retried(host_with, view)
    seen = [host.http.get("/v1/it", status="*").status_int for _ in range(6)]
    assert seen == [200] * 5 + [429]
    with host.db() as db:
        rows = db.connection().exec_driver_sql("SELECT key, count FROM limit_counters").all()
    [registered] = [count for key, count in rows if "register-address" in key]
    assert registered == 6


def test_s7_what_was_given_back_in_one_run_is_counted_in_the_next(site_with, host_with, frozen):
    """S7: a right password in a first run leaves nothing behind, nor does the second."""
    runs = []

    def view(request):
        runs.append(1)
        with request.authsite.ctx.limits.login("name", Owner("name")) as attempt:
            attempt.succeeded = True
        if len(runs) % 3:
            raise RetryableException
        return {}

    host = retried(host_with, view)
    assert [host.http.get("/v1/it").status_int for _ in range(8)] == [200] * 8
