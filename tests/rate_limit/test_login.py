"""The limits of logins: no guessing, and no locking out of owners."""

import pytest

from tests.support.site import PASSWORD, WEB
from tests.support.statements import counted
from tests.support.together import together

HOUR = 3600
LIMITS = {
    "limits": "on",
    "limits_login_account": "5/5 minutes",
    "limits_login_address": "900/minute",
}
DIAL = {"login_identifiers": "email phone", "phone_region": "DE"}


@pytest.fixture
def site(site_with, frozen):
    """Ann's site; the clock stands still."""
    made = site_with(**LIMITS)
    made.user()
    return made


def statuses(responses):
    return [answer.status_int for answer in responses]


def use_up(site, keys, count=5, **where):
    """The free attempts."""
    assert statuses(site.try_login(keys, **where) for _ in range(count)) == [400] * count


def wait_for(frozen, answer):
    frozen.advance(int(answer.headers["Retry-After"]))


def test_after_the_limit_a_login_is_refused_with_the_time_to_wait(site):
    keys = site.client()
    use_up(site, keys)
    answer = site.try_login(keys)
    assert answer.status_int == 429
    assert answer.headers["Retry-After"] == "300"
    words = "Too many attempts. Try again in 5 minutes."
    assert answer.json == {
        "error": "too_many_attempts", "error_description": words, "message": words,
    }  # fmt: skip


@pytest.mark.control("L11")
def test_while_an_account_is_closed_right_and_wrong_passwords_get_the_same_answer(site, hashes):
    keys = site.client()
    use_up(site, keys)
    hashes.clear()
    right, wrong = site.try_login(keys, PASSWORD), site.try_login(keys)
    assert (right.status, right.body) == (wrong.status, wrong.body)
    assert right.status_int == 429
    different = {"X-Request-Id"}
    assert {k: v for k, v in right.headers.items() if k not in different} == {
        k: v for k, v in wrong.headers.items() if k not in different
    }
    assert hashes == []


def test_an_unknown_name_is_limited_like_a_known_one(site):
    keys = site.client()
    known = [site.try_login(keys) for _ in range(7)]
    unknown = [site.try_login(keys, username="nobody@example.com") for _ in range(7)]
    assert [(a.status, a.body) for a in known] == [(a.status, a.body) for a in unknown]


@pytest.mark.control("L05")
def test_all_login_paths_share_one_counter(site_with, frozen):
    site = site_with(**LIMITS, **WEB)
    site.user()
    site.first_party("web")
    keys = site.client()
    form = {"username": "ann@example.com", "password": "not this one"}

    def proxy(path):
        return site.http.post(f"/v1/clients/web/{path}", form, status="*")

    def page():
        typed = site.http.get("/login").forms[0]
        typed["username"], typed["password"] = form["username"], form["password"]
        return typed.submit(status="*")

    ways = [
        page,
        lambda: proxy("login"),
        lambda: proxy("users/login"),
        lambda: site.try_login(keys),
    ]
    responses = [ways[number % 4]() for number in range(100)]
    assert statuses(responses) == [422, 400, 400, 400, 422] + [429] * 95
    assert site.events().count("login.failed") == 5 + 1  # that it is closed, once


@pytest.mark.control("L06")
def test_every_spelling_of_an_address_counts_as_one(site, hashes):
    keys = site.client()
    spellings = ["Ann@example.com", "ANN@EXAMPLE.COM", " ann@example.com", "ann@Example.com "]
    spellings += ["\N{NO-BREAK SPACE}aNN@example.com"]
    assert statuses(site.try_login(keys, username=each) for each in spellings) == [400] * 5
    assert site.try_login(keys).status_int == 429


@pytest.mark.control("L06")
def test_every_spelling_of_a_phone_number_counts_as_one(site_with, frozen):
    site = site_with(**LIMITS, **DIAL)
    site.user(phone="+49 30 901820")
    keys = site.client()
    spellings = ["+4930901820", "004930901820", "030 901820", "+49 (30) 90-18-20", "٠٣٠901820"]
    assert statuses(site.try_login(keys, username=each) for each in spellings) == [400] * 5
    assert site.try_login(keys, username="+49 30 90 18 20").status_int == 429


@pytest.mark.control("L06")
def test_a_host_name_in_another_unicode_form_counts_as_one(site):
    keys = site.client()
    composed, decomposed = "ann@m\u00fcller.example", "ann@mu\u0308ller.example"
    use_up(site, keys, username=composed)
    assert site.try_login(keys, username=decomposed).status_int == 429


@pytest.mark.control("L06")
def test_what_can_be_nobodys_name_is_limited_too(site):
    keys = site.client()
    use_up(site, keys, username="no name at all")
    assert site.try_login(keys, username=" No Name At All").status_int == 429


@pytest.mark.control("L08")
def test_a_success_gives_back_only_what_it_took_itself(site):
    keys = site.client()
    use_up(site, keys, 4)
    for _ in range(3):
        assert site.try_login(keys, PASSWORD).status_int == 200
    # Known here now; elsewhere the four failures still stand.
    use_up(site, keys, 1, address="198.51.100.7")
    assert site.try_login(keys, address="198.51.100.7").status_int == 429


@pytest.mark.control("L08")
def test_a_valid_login_in_between_does_not_clear_the_total_of_the_address(site_with, frozen):
    site = site_with(limits="on", limits_login_address="6/minute")
    site.user("eve@example.com")
    keys = site.client()
    seen = []
    for number in range(7):
        seen.append(site.try_login(keys, username=f"victim{number}@example.com"))
        seen.append(site.try_login(keys, PASSWORD, username="eve@example.com"))
    # A success gives back its own count; the six failures stay.
    assert statuses(seen) == [400, 200] * 5 + [400, 429, 429, 429]
    assert seen[-1].headers["Retry-After"] == "60"


@pytest.mark.control("L09")
def test_after_each_lockout_one_attempt_is_allowed_and_the_next_wait_is_longer(site, frozen):
    keys = site.client()
    use_up(site, keys)
    waits = []
    for _ in range(4):
        refused = site.try_login(keys)
        assert refused.status_int == 429
        waits.append(int(refused.headers["Retry-After"]))
        frozen.advance(waits[-1] - 1)
        assert site.try_login(keys).status_int == 429
        frozen.advance(1)
        assert statuses(site.try_login(keys) for _ in range(3)) == [400, 429, 429]
    assert waits == [300, 600, 900, 900]


@pytest.mark.control("L09")
def test_after_a_lockout_the_owner_gets_in_and_later_failures_count_again(site, frozen):
    keys = site.client()
    use_up(site, keys)
    wait_for(frozen, site.try_login(keys))
    assert site.try_login(keys, PASSWORD).status_int == 200
    elsewhere = {"address": "198.51.100.7"}
    assert statuses(site.try_login(keys, **elsewhere) for _ in range(2)) == [400, 429]


@pytest.mark.control("L09")
def test_after_a_day_everything_is_forgotten(site, frozen):
    keys = site.client()
    for _ in range(3):
        wait_for(frozen, [site.try_login(keys) for _ in range(6)][-1])
    frozen.advance(25 * HOUR)
    use_up(site, keys)
    assert site.try_login(keys).headers["Retry-After"] == "300"


def test_refused_attempts_do_not_make_the_wait_longer(site):
    keys = site.client()
    use_up(site, keys)
    for _ in range(30):
        refused = site.try_login(keys)
    assert refused.headers["Retry-After"] == "300"


@pytest.mark.control("L10")
def test_the_owner_gets_in_from_a_recognized_address_while_others_fill_the_limit(site):
    keys = site.client()
    assert site.try_login(keys, PASSWORD, address="192.0.2.1").status_int == 200
    others = [site.try_login(keys, address=f"198.51.100.{n}") for n in range(50)]
    assert statuses(others) == [400] * 5 + [429] * 45
    assert site.try_login(keys, PASSWORD, address="203.0.113.9").status_int == 429
    assert site.try_login(keys, PASSWORD, address="192.0.2.1").status_int == 200


@pytest.mark.control("L10")
def test_a_known_address_has_a_limit_of_its_own(site):
    keys = site.client()
    site.try_login(keys, PASSWORD)
    use_up(site, keys)
    assert site.try_login(keys, PASSWORD).status_int == 429
    assert site.try_login(keys, PASSWORD, address="203.0.113.9").status_int == 200


@pytest.mark.control("L10")
def test_an_address_stays_known_as_long_as_it_is_used_and_no_longer(site, frozen):
    keys = site.client()
    for _ in range(4):
        assert site.try_login(keys, PASSWORD).status_int == 200
        frozen.advance(14 * 24 * HOUR)
    use_up(site, keys, address="198.51.100.7")
    assert site.try_login(keys, PASSWORD).status_int == 200
    frozen.advance(31 * 24 * HOUR)
    use_up(site, keys, address="198.51.100.7")
    assert site.try_login(keys, PASSWORD).status_int == 429


@pytest.mark.control("L15")
def test_one_try_on_each_of_many_accounts_from_one_address_is_limited(site_with, frozen):
    site = site_with(limits="on")
    keys = site.client()
    responses = [site.try_login(keys, username=f"user{n}@example.com") for n in range(40)]
    assert statuses(responses) == [400] * 30 + [429] * 10


@pytest.mark.control("L07")
def test_of_many_wrong_logins_at_once_no_more_are_hashed_than_the_limit(site, hashes):
    keys = site.client()
    responses = together(*[lambda: site.try_login(keys) for _ in range(24)])
    found = sorted(statuses(responses))
    assert found == [400] * 5 + [429] * 19
    assert len(hashes) == 5


def test_right_logins_at_once_leave_nothing_behind(site):
    keys = site.client()
    found = statuses(together(*[lambda: site.try_login(keys, PASSWORD) for _ in range(12)]))
    assert set(found) <= {200, 429}
    use_up(site, keys, address="198.51.100.7")


def test_a_login_that_was_never_checked_is_given_back(site, monkeypatch):
    keys = site.client()
    pool = site.app.registry["authsite"].passwords.pool
    monkeypatch.setattr(pool, "capacity", 0)  # as when more logins wait than can be hashed
    assert {site.try_login(keys).status_int for _ in range(6)} == {503}
    monkeypatch.undo()
    assert site.login(keys)["access_token"]


def test_closing_an_account_is_on_record(site):
    keys = site.client()
    use_up(site, keys)
    site.try_login(keys)
    site.try_login(keys)  # while it is closed, an attempt is recorded once
    assert site.events()[-7:] == [*["login.failed"] * 5, "login.locked", "login.failed"]


@pytest.mark.parametrize("browser", ["none", "recognized"])
def test_a_login_asks_for_the_counters_in_five_round_trips(site_with, frozen, browser):
    site = site_with(**LIMITS, **WEB)
    site.first_party("web")
    site.user()
    form = {"username": "ann@example.com", "password": PASSWORD}
    for _ in range(2):  # the first remembers the address
        if browser == "none":
            site.http.reset()
        with counted(site.database) as seen:
            site.http.post("/v1/clients/web/login", form, status=200)
    asked = [statement.split()[0] for statement in seen if "limit_counters" in statement]
    # Address; all reads; account; refund of the account, and of the address.
    assert asked == ["INSERT", "SELECT", "INSERT", "INSERT", "INSERT"]


def test_with_counters_in_memory_a_login_is_counted_and_refunded_alike(site_with, frozen):
    site = site_with(**LIMITS, limits_storage="memory")
    site.user()
    keys = site.client()
    site.login(keys)
    use_up(site, keys, 4)
    site.login(keys)
    use_up(site, keys, 1)
    assert site.try_login(keys, PASSWORD).status_int == 429
    assert site.try_login(keys, PASSWORD, address="198.51.100.9").status_int == 200
