"""The limits of what a mailbox proves, and how a reset opens a closed account."""

import pytest

from authsite.platform.db import after_commit
from tests.support import mails
from tests.support.site import bearer

LIMITS = {
    "limits": "on",
    "limits_login_account": "3/5 minutes",
    "limits_login_address": "900/minute",
}
FORGOT = {"email": "ann@example.com", "reset_url": "http://localhost/password/reset"}
NEW = "a purple wolf at tea 77"


class RefusesToCommit:
    """Takes part in a transaction, and lets it fail at the very end."""

    def abort(self, _transaction):
        pass

    tpc_begin = commit = tpc_finish = tpc_abort = abort

    def tpc_vote(self, _transaction):
        raise LookupError("of the commit")

    def sortKey(self):
        return "~"


def forgot(site, address="192.0.2.1", **fields):
    environ = {"REMOTE_ADDR": address}
    return site.http.post_json(
        "/v1/password/forgot", FORGOT | fields, status="*", extra_environ=environ
    )


def reset(site, token, address="192.0.2.1"):
    body = {"email": "ann@example.com", "token": token, "password": NEW}
    environ = {"REMOTE_ADDR": address}
    return site.http.post_json("/v1/password/reset", body, status="*", extra_environ=environ)


def reset_token(site, user):
    return site.reset_token(user)


def to_ann(site):
    """How many mails go to her; others are made so that the work is the same, and not sent."""
    return [row.address for row in mails.rows(site)].count("ann@example.com")


def close(site, keys):
    seen = [site.try_login(keys, address=f"198.51.100.{n}").status_int for n in range(4)]
    assert seen == [400, 400, 400, 429]


@pytest.mark.control("L10")
def test_a_reset_opens_the_account_again(site_with, frozen):
    site = site_with(**LIMITS)
    keys, user = site.client(), site.user()
    close(site, keys)
    assert reset(site, reset_token(site, user)).status_int == 200
    assert site.try_login(keys, NEW, address="203.0.113.9").status_int == 200


@pytest.mark.control("L10")
def test_whoever_reset_the_password_is_not_closed_out_again(site_with, frozen):
    site = site_with(**LIMITS)
    keys, user = site.client(), site.user()
    close(site, keys)
    reset(site, reset_token(site, user), address="203.0.113.9")
    site.http.reset()  # the strangers do not have the owner's cookie
    close(site, keys)
    assert site.try_login(keys, NEW, address="203.0.113.9").status_int == 200


def test_a_refused_reset_opens_nothing(site_with, frozen):
    site = site_with(**LIMITS)
    keys, user = site.client(), site.user()
    close(site, keys)
    token = reset_token(site, user)
    assert reset(site, f"{token[:-2]}AA").status_int == 422
    assert site.try_login(keys, address="203.0.113.9").status_int == 429


def test_what_waits_for_a_commit_is_not_done_when_it_fails(site_with, host_with):
    done = []

    def build(config):
        def view(request):
            after_commit(request.authsite.ctx.db, lambda: done.append(request.GET["end"]))
            if request.GET["end"] == "bad":
                raise LookupError("of the view")
            if request.GET["end"] == "late":
                request.tm.get().join(RefusesToCommit())
            return {}

        config.add_route("end", "/end")
        config.add_view(view, route_name="end", renderer="json")

    host = host_with(build)
    host.http.post("/end?end=good")
    with pytest.raises(LookupError, match="of the view"):
        host.http.post("/end?end=bad")
    with pytest.raises(LookupError, match="of the commit"):
        host.http.post("/end?end=late")
    assert done == ["good"]


@pytest.mark.control("M02")
def test_over_the_limit_of_an_address_no_mail_goes_out_and_the_answer_is_the_same(
    site_with, frozen
):
    site = site_with(limits="on")
    site.user()
    responses = [forgot(site, f"198.51.100.{n % 20}") for n in range(100)]
    assert {answer.status_int for answer in responses} == {202}
    assert len({answer.body for answer in responses}) == 1
    assert to_ann(site) == 5
    frozen.advance(3600)
    forgot(site)
    assert to_ann(site) == 6


@pytest.mark.control("L06")
def test_every_spelling_of_the_address_shares_the_five_mails(site_with):
    site = site_with(limits="on")
    site.user()
    for spelling in ("ann@example.com", "Ann@Example.COM", " ann@example.com") * 3:
        assert forgot(site, email=spelling).status_int == 202
    assert to_ann(site) == 5


@pytest.mark.control("L02")
def test_asking_for_resets_is_limited_for_each_client_address(site_with):
    site = site_with(limits="on")
    seen = [forgot(site, email=f"u{n}@example.com").status_int for n in range(25)]
    assert seen == [202] * 20 + [429] * 5


def test_wrong_reset_tokens_are_limited_and_right_ones_are_not_counted(site_with):
    site = site_with(limits="on", limits_reset_token="3/15 minutes")
    user = site.user()
    assert reset(site, reset_token(site, user)).status_int == 200
    assert [reset(site, "wrong").status_int for _ in range(5)] == [422] * 3 + [429] * 2
    assert reset(site, "wrong", address="198.51.100.7").status_int == 422


@pytest.mark.control("M02")
def test_verification_mails_are_limited_for_each_user(site_with):
    site = site_with(limits="on")
    keys = site.client()
    for name in ("ann", "bob"):
        site.user(f"{name}@example.com")
    ann, bob = (site.login(keys, f"{name}@example.com")["access_token"] for name in ("ann", "bob"))

    def ask(token):
        path = "/v1/email/verification-notification"
        body = {"verification_url": "http://localhost/email/verify"}
        return site.http.post_json(path, body, headers=bearer(token), status="*").status_int

    assert [ask(ann) for _ in range(8)] == [202] * 6 + [429] * 2
    assert ask(bob) == 202
