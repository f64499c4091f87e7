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
