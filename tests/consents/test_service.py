"""What a user has allowed an application: given, added to, used and withdrawn."""

import threading

import pytest

from authsite.oauth.consents import service
from authsite.platform.runtime import clock
from tests.support import connected
from tests.support.site import PASSWORD

pytestmark = pytest.mark.both_databases


def missing(site, user, client_id, scope):
    with site.db() as db:
        return service.missing(connected.context(site, db), user.id, client_id, scope)


def withdraw(site, user, client_id):
    with site.db() as db:
        return service.withdraw(connected.context(site, db), user.id, client_id)


def listed(site, user):
    with site.db() as db:
        return service.list_of(connected.context(site, db), user.id)


@pytest.fixture
def ann(site):
    return site.user(confirmed=True)


def test_what_was_allowed_is_not_missing_again_and_more_is(site, ann):
    wiki, other = connected.application(site), connected.application(site, "Other")
    assert missing(site, ann, wiki, "openid email") == ("openid", "email")
    connected.allow(site, ann, wiki, "openid email")
    assert missing(site, ann, wiki, "email openid") == ()
    assert missing(site, ann, wiki, "openid phone email profile") == ("phone", "profile")
    assert missing(site, ann, other, "openid") == ("openid",)
    assert missing(site, site.user("bob@example.com"), wiki, "openid") == ("openid",)


def test_an_application_without_a_scope_is_asked_about_once(site, ann):
    wiki = connected.application(site)
    assert missing(site, ann, wiki, "") == service.NOTHING_ALLOWED
    connected.allow(site, ann, wiki, "")
    assert missing(site, ann, wiki, "") == ()
    assert missing(site, ann, wiki, "openid") == ("openid",)


def test_giving_adds_to_what_was_given_and_records_what_is_new(site, ann):
    wiki = connected.application(site)
    connected.allow(site, ann, wiki, "openid")
    connected.allow(site, ann, wiki, "email")
    connected.allow(site, ann, wiki, "email openid")
    assert connected.consents(site) == [(wiki, "openid email")]
    assert connected.events(site, "consent.given") == [
        ("consent.given", ann.id, wiki, {"scope": "openid"}),
        ("consent.given", ann.id, wiki, {"scope": "email"}),
    ]


def test_a_consent_holds_more_than_one_request_can_ask_for(site, ann):
    wiki = connected.application(site)
    scopes = [f"scope:{number:03}" for number in range(300)]
    for start in (0, 100, 200):
        connected.allow(site, ann, wiki, " ".join(scopes[start : start + 100]))
    assert missing(site, ann, wiki, " ".join(scopes)) == ()


def test_requests_at_the_same_time_all_add(site, ann):
    wiki, failures = connected.application(site), []

    def give(scope):
        try:
            connected.allow(site, ann, wiki, scope)
        except Exception as error:
            failures.append(error)

    scopes = [f"s{number}" for number in range(6)]
    threads = [threading.Thread(target=give, args=[scope]) for scope in scopes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert missing(site, ann, wiki, " ".join(scopes)) == ()


def test_a_use_is_noted_only_while_there_is_a_consent(site, ann):
    wiki = connected.application(site)
    assert not connected.note_use(site, ann, wiki)
    connected.allow(site, ann, wiki)
    assert [each.used_at for each in listed(site, ann)] == [None]
    before = clock.now()
    assert connected.note_use(site, ann, wiki)
    [shown] = listed(site, ann)
    assert before <= shown.used_at <= clock.now()
    assert (shown.name, shown.scopes) == ("Wiki", ["openid", "email"])


def test_withdrawing_ends_the_tokens_and_open_codes_of_that_client_and_user_alone(site, ann):
    bob = site.user("bob@example.com")
    wiki, other = connected.application(site), connected.application(site, "Other")
    for user in (ann, bob):
        for client in (wiki, other):
            connected.allow(site, user, client)
    mine = connected.family(site, ann, wiki)
    kept = {connected.family(site, ann, other), connected.family(site, bob, wiki)}
    connected.code(site, ann, wiki)
    kept_codes = {
        connected.code(site, ann, wiki, used=True),  # its reuse must still end its family
        connected.code(site, ann, other),
        connected.code(site, bob, wiki),
    }
    assert withdraw(site, ann, wiki)
    assert not withdraw(site, ann, wiki)
    assert connected.unrevoked(site) == kept
    assert connected.codes(site) == kept_codes
    assert [each.client_id for each in listed(site, ann)] == [other]
    assert len(listed(site, bob)) == 2
    why = {"family": str(mine), "why": "consent withdrawn"}
    assert connected.events(site, "token.revoked", "consent.withdrawn") == [
        ("token.revoked", ann.id, wiki, why),
        ("consent.withdrawn", ann.id, wiki, None),
    ]


def test_a_recovery_takes_back_what_third_parties_were_allowed_lately(site, ann):
    names = ("old", "extended", "new", "own")
    apps = {name: connected.application(site, name, first_party=name == "own") for name in names}
    for client in apps.values():
        connected.allow(site, ann, client, "openid")
    connected.allowed_before(site, service.RECENT, apps["old"], apps["extended"])
    connected.allow(site, ann, apps["extended"], "openid email")
    kept = {connected.family(site, ann, apps[name]) for name in ("old", "own")}
    for name in ("extended", "new"):
        connected.family(site, ann, apps[name])
    with site.db() as db:
        service.withdraw_recent(connected.context(site, db), ann.id)
    assert {client for client, _ in connected.consents(site)} == {apps["old"], apps["own"]}
    assert connected.unrevoked(site) == kept


def test_with_the_user_or_the_client_the_consent_goes(site, ann):
    wiki = connected.application(site)
    connected.allow(site, ann, wiki)
    token = site.login(site.client())["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    site.http.delete_json("/v1/user", {"current_password": PASSWORD}, headers=headers, status=204)
    assert connected.consents(site) == []
