"""``authsite client …``: clients, their secrets, and what ends their tokens."""

import json
import re

import pytest

from tests.support.home import initialized
from tests.support.site import ClientKeys, Site

pytestmark = pytest.mark.slow
KEYS = {"client_id", "client_secret", "name", "type"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder after ``init``."""
    return initialized(tmp_path_factory.mktemp("home"))


@pytest.fixture
def site(home):
    """An application on the database of ``home``."""
    made = Site(home.url)
    yield made
    made.database.dispose()


def keys_of(shown):
    return ClientKeys(shown["client_id"], shown["client_secret"])


def test_a_clients_secret_is_shown_once_and_stored_nowhere(home):
    done = home.run("client", "create", "--name", "Shop", "--type", "personal")
    secret = next(line.split()[1] for line in done.stdout.splitlines() if "client_secret" in line)
    assert "this once" in done.stdout
    for path in home.folder.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()
    for more in ([], ["--json"]):
        listing = home.run("client", "list", *more).stdout
        assert "Shop" in listing
        assert secret not in listing


@pytest.mark.parametrize("type_", ["password", "personal", "resource-server"])
def test_create_prints_one_object_for_scripts(home, type_):
    shown = home.json("client", "create", "--name", "S", "--type", type_)
    assert set(shown) == KEYS
    assert (shown["name"], shown["type"]) == ("S", type_)
    assert len(shown["client_secret"]) == 43  # 256 bits


def test_a_name_is_one_line_that_fits(home, site):
    for name in ("", "  ", "a\nb", "\x1b[2J", "x" * 101):
        refused = home.run("client", "create", "--name", name, "--type", "personal", status=1)
        control = not name.isprintable()
        assert ("Leave out U+" if control else "one line of 1 to 100 characters") in refused.stderr
    client_id = site.client().client_id
    home.run("client", "update", client_id, "--name", "", status=1)
    assert home.json("client", "update", client_id, "--name", "x" * 100)["name"] == "x" * 100


@pytest.mark.control("T08")
def test_a_rotated_secret_works_beside_the_old_one_until_that_is_retired(home, site):
    first = home.json("client", "create", "--name", "R", "--type", "personal")
    second = home.json("client", "rotate-secret", first["client_id"])
    assert set(second) == KEYS
    assert {**second, "client_secret": ""} == {**first, "client_secret": ""}
    for shown in (first, second):
        site.token(keys_of(shown), grant_type="client_credentials")
    third = home.json("client", "rotate-secret", first["client_id"])
    site.token(keys_of(first), 401, grant_type="client_credentials")
    home.run("client", "retire-secret", first["client_id"])
    site.token(keys_of(second), 401, grant_type="client_credentials")
    site.token(keys_of(third), grant_type="client_credentials")


def test_a_client_is_shown_with_the_number_of_its_secrets(home):
    made = home.json("client", "create", "--name", "N", "--type", "personal")
    shown = home.run("client", "show", made["client_id"]).stdout
    assert re.search(r"secrets +1\n", shown)
    assert re.search(r"enabled +yes\n", shown)
    assert re.search(r"scope +–\n", shown)
    home.run("client", "rotate-secret", made["client_id"])
    assert re.search(r"secrets +2\n", home.run("client", "show", made["client_id"]).stdout)


def test_an_only_secret_is_not_retired_and_the_command_says_so(home, site):
    made = home.json("client", "create", "--name", "O", "--type", "personal")
    said = home.run("client", "retire-secret", made["client_id"]).stdout
    assert "only one secret" in said
    assert "rotate-secret" in said
    site.token(keys_of(made), grant_type="client_credentials")


@pytest.mark.control("T19")
def test_a_disabled_client_and_its_tokens_are_dead_at_once(home, site):
    shown = home.json("client", "create", "--name", "D", "--type", "personal")
    tokens = site.token(keys_of(shown), grant_type="client_credentials").json
    site.me(tokens["access_token"], status=403)
    home.run("client", "disable", shown["client_id"])
    site.me(tokens["access_token"], status=401)
    site.token(keys_of(shown), 401, grant_type="client_credentials")
    listed = {one["client_id"]: one for one in home.json("client", "list")["clients"]}
    assert listed[shown["client_id"]]["enabled"] is False


def test_scopes_of_a_client_are_checked_and_kept(home):
    create = ["client", "create", "--name", "S", "--type", "personal"]
    shown = home.json(*create, "--scope", "a  b", "--default-scope", "a")
    listed = {one["client_id"]: one for one in home.json("client", "list")["clients"]}
    assert (listed[shown["client_id"]]["scope"], listed[shown["client_id"]]["default_scope"]) == (
        "a b",
        "a",
    )
    done = home.run(*create, "--scope", "a", "--default-scope", "b", status=1)
    assert "default scope" in done.stderr
    done = home.run(*create, "--scope", "c", status=1, AUTHSITE_SCOPES="a: A")
    assert "unknown scope c" in done.stderr


def test_l12_a_client_may_be_called_as_it_likes(home):
    home.run("client", "create", "--name", "[/x]", "--type", "personal")
    assert "[/x]" in home.run("client", "list").stdout


def test_l13_an_id_counts_in_its_usual_form_only(home):
    made = home.json("client", "create", "--name", "L13", "--type", "personal")
    id = made["client_id"]
    for other in (id.replace("-", ""), f"{{{id}}}", f"urn:uuid:{id}"):
        assert "client list" in home.run("client", "disable", other, status=1).stderr
    home.run("client", "disable", id.upper())


def test_a_client_is_shown_changed_and_enabled_again(home, site):
    create = ["client", "create", "--name", "U", "--type", "personal", "--scope", "a b"]
    made = home.json(*create)
    id = made["client_id"]
    [listed] = [one for one in home.json("client", "list")["clients"] if one["client_id"] == id]
    assert home.json("client", "show", id) == listed
    wide = site.token(keys_of(made), grant_type="client_credentials", scope="a b").json
    home.run("client", "update", id, "--name", "V", "--default-scope", "a")
    site.me(wide["access_token"], status=403)  # it acts for no user, and lives
    home.run("client", "update", id, "--scope", "a")
    site.me(wide["access_token"], status=401)
    shown = home.json("client", "show", id)
    assert (shown["name"], shown["scope"], shown["default_scope"]) == ("V", "a", "a")
    assert "V" in home.run("client", "show", id).stdout
    assert "default scope" in home.run("client", "update", id, "--scope", "b", status=1).stderr
    assert "--name" in home.run("client", "update", id, status=2).stderr
    home.run("client", "disable", id)
    site.token(keys_of(made), 401, grant_type="client_credentials")
    home.run("client", "enable", id)
    site.token(keys_of(made), grant_type="client_credentials")
    site.me(wide["access_token"], status=401)


def test_clients_are_listed_by_name_type_and_state(home):
    ids = {
        kind: home.json("client", "create", "--name", f"100% {kind}", "--type", kind)["client_id"]
        for kind in ("password", "personal")
    }
    home.json("client", "disable", ids["personal"])

    def listed(*filters):
        found = home.json("client", "list", "--name", "100%", *filters)
        return [one["client_id"] for one in found["clients"]], found["total"]

    assert listed() == ([ids["password"], ids["personal"]], 2)
    assert listed("--limit", "1") == ([ids["password"]], 2)
    assert listed("--type", "password") == ([ids["password"]], 1)
    assert listed("--disabled") == ([ids["personal"]], 1)
    shown = home.run("client", "list", "--name", "100%", "--limit", "1").stdout
    assert "… and 1 more: --limit shows more of them." in shown
    assert "No client matches." in home.run("client", "list", "--name", "nowhere").stdout


def test_each_change_of_a_client_prints_it_for_scripts(home):
    id = home.json("client", "create", "--name", "J", "--type", "personal")["client_id"]
    for command, name, value in (
        (["update", id, "--name", "K"], "name", "K"),
        (["disable", id], "enabled", False),
        (["enable", id], "enabled", True),
        (["retire-secret", id], "secrets", 1),
    ):
        shown = home.json("client", *command)
        assert shown == home.json("client", "show", id)
        assert shown[name] == value


def test_m13_a_second_rotation_says_that_it_ends_the_first_secret(home):
    id = home.json("client", "create", "--name", "M", "--type", "personal")["client_id"]
    assert home.run("client", "rotate-secret", id).stderr == ""
    again = home.run("client", "rotate-secret", id, "--json")
    assert "older of two secrets no longer works" in again.stderr
    assert set(json.loads(again.stdout)) == KEYS
