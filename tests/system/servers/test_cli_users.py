"""``authsite user …``: by the rules of registration, and at once on every process."""

import json

import pytest

from tests.support.home import Home
from tests.support.site import Site

pytestmark = pytest.mark.slow
FIELDS = {
    "id",
    "email",
    "username",
    "phone",
    "name",
    "confirmed",
    "email_verified_at",
    "created_at",
    "updated_at",
}
STRONG = "purple wolf 77 tea"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    made = Home(tmp_path_factory.mktemp("users"))
    cheap = made.ini.read_text().replace("# authsite.bcrypt-cost = 12", "authsite.bcrypt-cost = 10")
    made.ini.write_text(cheap)
    made.run("init")
    return made


@pytest.fixture
def site(home):
    """An application on the database of ``home``, for logging in."""
    made = Site(home.url)
    yield made
    made.database.dispose()


def create(home, email, *more, password=STRONG, status=0):
    arguments = ["user", "create", "--email", email, "--password-stdin", *more]
    return home.run(*arguments, stdin=f"{password}\n", status=status)


def listed(home, email):
    [found] = [one for one in home.json("user", "list")["users"] if one["email"] == email]
    return found


def test_a_user_is_created_and_can_log_in(home, site):
    done = create(home, "Bo@Example.com", "--name", "Bo Berg", "--json")
    shown = json.loads(done.stdout)
    assert set(shown) == FIELDS
    assert (shown["email"], shown["name"], shown["confirmed"]) == (
        "Bo@example.com",
        "Bo Berg",
        False,
    )
    assert STRONG not in done.stdout + done.stderr
    site.login(site.client(), "bo@example.com", STRONG)


def test_a_user_may_be_created_confirmed(home):
    shown = json.loads(create(home, "cy@example.com", "--confirmed", "--json").stdout)
    assert shown["confirmed"] is True
    assert shown["email_verified_at"].endswith("Z")


def test_only_the_line_end_is_taken_off_the_password(home, site):
    create(home, "blank@example.com", password=f" {STRONG} ")
    keys = site.client()
    site.login(keys, "blank@example.com", f" {STRONG} ")
    site.login(keys, "blank@example.com", STRONG, status=400)


def test_the_rules_of_registration_hold_at_the_command_line(home):
    create(home, "dora@example.com")
    for email, password, words in (
        ("dora@example.com", STRONG, "email: "),
        ("DORA@example.com", STRONG, "email: "),
        ("a@", STRONG, "email: "),
        ("eve@example.com", "short", "password: "),
        ("eve@example.com", "password123", "password: "),
        ("eve@example.com", "", "password: "),
    ):
        done = create(home, email, password=password, status=1)
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
    assert "eve@example.com" not in home.run("user", "list").stdout


def test_nothing_but_the_password_is_asked_for(home):
    done = home.run("user", "create", "--email", "x@example.com", stdin=STRONG, status=2)
    assert "--password-stdin" in done.stderr


@pytest.mark.control("T19")
@pytest.mark.parametrize("who", ["email", "EMAIL", "id"])
def test_a_disabled_user_is_out_at_once_and_comes_back_only_by_logging_in(home, site, who):
    email = f"off-{who.lower()}@example.com" if who != "EMAIL" else "off-upper@example.com"
    made = json.loads(create(home, email, "--json").stdout)
    named = {"email": email, "EMAIL": email.upper(), "id": made["id"]}[who]
    keys = site.client()
    tokens = site.login(keys, email, STRONG)
    home.run("user", "disable", named)
    assert listed(home, email)["enabled"] is False
    site.me(tokens["access_token"], status=401)
    site.refresh(keys, tokens["refresh_token"], status=400)
    site.login(keys, email, STRONG, status=400)
    home.run("user", "enable", named)
    assert listed(home, email)["enabled"] is True
    site.me(tokens["access_token"], status=401)
    site.login(keys, email, STRONG)


def test_confirming_is_for_good(home):
    create(home, "conf@example.com")
    home.run("user", "confirm", "conf@example.com")
    first = listed(home, "conf@example.com")["email_verified_at"]
    home.run("user", "confirm", "conf@example.com")
    assert listed(home, "conf@example.com")["email_verified_at"] == first is not None


@pytest.mark.control("T19")
def test_signing_out_ends_all_tokens_and_leaves_the_password(home, site):
    create(home, "out@example.com")
    keys = site.client()
    issued = [site.login(keys, "out@example.com", STRONG) for _ in range(2)]
    home.run("user", "sign-out", "out@example.com")
    for tokens in issued:
        site.me(tokens["access_token"], status=401)
        site.refresh(keys, tokens["refresh_token"], status=400)
    site.login(keys, "out@example.com", STRONG)


@pytest.mark.control("T19")
def test_a_set_password_ends_all_tokens_and_the_old_password(home, site):
    create(home, "set@example.com")
    keys = site.client()
    tokens = site.login(keys, "set@example.com", STRONG)
    for weak in ("short", "password123", "set@example.com"):
        done = home.run(
            "user", "set-password", "set@example.com", "--password-stdin", stdin=weak, status=1
        )
        assert "password: " in done.stderr
    site.me(tokens["access_token"])  # a refused password ends nothing
    home.run(
        "user", "set-password", "set@example.com", "--password-stdin", stdin="another lamp 42 x\n"
    )
    site.me(tokens["access_token"], status=401)
    site.refresh(keys, tokens["refresh_token"], status=400)
    site.login(keys, "set@example.com", STRONG, status=400)
    site.login(keys, "set@example.com", "another lamp 42 x")


def test_the_list_shows_users_and_no_hashes(home):
    create(home, "list@example.com")
    for one in home.json("user", "list")["users"]:
        assert set(one) == FIELDS | {"enabled"}
    for more in ([], ["--json"]):
        shown = home.run("user", "list", *more).stdout
        assert "list@example.com" in shown
        assert "$2b$" not in shown


def search(home, *filters):
    found = home.json("user", "list", "--email", "Search_", *filters)
    return [one["email"] for one in found["users"]], found["total"]


def test_m15_users_are_listed_by_address_and_state(home):
    ann, bo, other = "search_ann@example.com", "search_bo@example.com", "searchXcy@example.com"
    create(home, ann, "--confirmed")
    create(home, bo)
    create(home, other)
    home.run("user", "disable", bo)
    assert search(home) == ([ann, bo], 2)
    assert search(home, "--limit", "1") == ([ann], 2)
    assert search(home, "--disabled") == ([bo], 1)
    assert search(home, "--unconfirmed") == ([bo], 1)
    shown = home.run("user", "list", "--email", "search_", "--limit", "1").stdout
    assert "… and 1 more: --limit shows more of them." in shown
    assert "No user matches." in home.run("user", "list", "--email", "nowhere").stdout


def test_m15_a_user_is_shown_with_the_number_of_sign_ins(home, site):
    create(home, "show@example.com")
    site.login(site.client(), "show@example.com", STRONG)
    shown = home.json("user", "show", "show@example.com")
    assert set(shown) == FIELDS | {
        "enabled", "pending_email", "active_sessions", "origin", "groups",
        "has_password", "identities",
    }  # fmt: skip
    assert (shown["active_sessions"], shown["origin"], shown["groups"]) == (1, "command", [])
    text = home.run("user", "show", shown["id"]).stdout
    assert "show@example.com" in text
    assert "$2b$" not in text


def test_a_profile_is_changed_and_emptied_also_of_a_disabled_user(home):
    with_names = {"AUTHSITE_LOGIN_IDENTIFIERS": "email username"}
    create(home, "prof@example.com", "--name", "Old")
    home.run("user", "disable", "prof@example.com")
    change = ["user", "update", "prof@example.com"]
    changed = home.json(*change, "--name", "New", "--username", "profi", **with_names)
    assert (changed["name"], changed["username"], changed["enabled"]) == ("New", "profi", False)
    assert home.json("user", "show", "profi")["email"] == "prof@example.com"
    changed = home.json(*change, "--username", "", **with_names)
    assert (changed["name"], changed["username"]) == ("New", None)
    create(home, "prof2@example.com")
    home.run("user", "update", "prof2@example.com", "--username", "taken1", **with_names)
    done = home.run(*change, "--username", "Taken1", status=1, **with_names)
    assert "username: " in done.stderr


def test_each_change_of_a_user_prints_the_user_for_scripts(home):
    create(home, "json@example.com")
    for command, name, value in (
        ("confirm", "confirmed", True),
        ("disable", "enabled", False),
        ("enable", "enabled", True),
        ("sign-out", "email", "json@example.com"),
    ):
        assert home.json("user", command, "json@example.com")[name] == value


@pytest.mark.control("T19")
@pytest.mark.parametrize("disabled", [False, True])
def test_m15_a_deleted_user_is_erased_and_the_address_is_free_again(home, site, disabled):
    email = f"gone-{disabled}@example.com".lower()
    made = json.loads(create(home, email, "--json").stdout)
    tokens = site.login(site.client(), email, STRONG)
    if disabled:
        home.run("user", "disable", email)
    refused = home.run("user", "delete", email, status=2)
    assert "--yes" in refused.stderr
    assert listed(home, email)
    shown = home.json("user", "delete", email, "--yes")
    assert shown == {"id": made["id"], "email": email, "deleted": True}
    site.me(tokens["access_token"], status=401)
    home.run("user", "show", email, status=1)
    assert json.loads(create(home, email, "--json").stdout)["id"] != made["id"]


def test_an_address_stays_until_the_link_to_the_new_one_is_used(home):
    create(home, "typed@example.com", "--confirmed")
    create(home, "taken@example.com")
    for wrong in ("taken@example.com", "nonsense"):
        done = home.run("user", "set-email", "typed@example.com", wrong, status=1)
        assert "email: " in done.stderr
    shown = home.json("user", "set-email", "typed@example.com", "Next@example.com")
    assert (shown["email"], shown["confirmed"]) == ("typed@example.com", True)
    sent = home.run("mail", "send").stderr.split("---- mail:")
    [notice] = [each for each in sent if "To: typed@example.com" in each]
    assert "/email/change/cancel/" in notice
    [asked] = [each for each in sent if "To: Next@example.com" in each]
    assert "/email/verify/" in asked


def test_the_address_of_a_disabled_user_waits_for_no_link(home):
    create(home, "off@example.com", "--confirmed")
    home.run("user", "disable", "off@example.com")
    refused = home.run("user", "set-email", "off@example.com", "on@example.com", status=1)
    assert "--confirmed" in refused.stderr
    changed = home.json("user", "set-email", "off@example.com", "on@example.com", "--confirmed")
    assert changed["email"] == "on@example.com"


@pytest.mark.control("T19")
def test_a_confirmed_address_of_an_administrator_ends_all_sign_ins(home, site):
    create(home, "old@example.com", "--confirmed")
    keys = site.client()
    tokens = site.login(keys, "old@example.com", STRONG)
    changed = home.json("user", "set-email", "old@example.com", "New@Example.com", "--confirmed")
    assert (changed["email"], changed["confirmed"]) == ("New@example.com", True)
    site.me(tokens["access_token"], status=401)
    site.login(keys, "old@example.com", STRONG, status=400)
    site.login(keys, "new@example.com", STRONG)
    [told] = home.json("mail", "list", "--email", "new@")["mails"]
    assert told["letter"] == "address_confirmed"
    sent = home.run("mail", "send").stderr
    [notice] = [each for each in sent.split("---- mail:") if "To: old@example.com" in each]
    assert "was changed" in notice
    assert "http" not in notice  # only an administrator takes this change back


def test_an_export_is_one_object_with_the_data_and_without_hashes(home):
    create(home, "export@example.com")
    shown = home.run("user", "export", "export@example.com").stdout
    assert "$2b$" not in shown
    found = json.loads(shown)
    assert found["user"]["email"] == "export@example.com"
    line = home.run("user", "export", "export@example.com", "--json").stdout
    assert len(line.splitlines()) == 1
    assert json.loads(line)["audit_events"][-1]["event"] == "user.exported"
