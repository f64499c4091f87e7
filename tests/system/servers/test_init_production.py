"""``authsite init --production``, and what it refuses."""

import stat

import pytest

from tests.support.home import CHECKOUT, Home

pytestmark = pytest.mark.slow
BASE_URL = "https://auth.example.org"


@pytest.fixture
def home(tmp_path):
    """A folder in which nothing was done yet."""
    return Home(tmp_path)


def test_init_production_writes_its_files_and_says_what_to_run_next(tmp_path):
    home = Home(tmp_path)
    folder = tmp_path / "site"

    said = home.run("init", "--production", "--folder", "site").stdout

    ini, env_file = folder / "production.ini", folder / "authsite.env"
    assert sorted(folder.iterdir()) == [env_file, ini]
    assert ini.read_text() == (CHECKOUT / "production.ini").read_text()
    for path in (ini, env_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert env_file.read_text().startswith("AUTHSITE_SECRET=")
    for words in ("AUTHSITE_BASE_URL", "AUTHSITE_DATABASE_URL", "AUTHSITE_REGISTRATION",
                  "on (everyone), off, invite, or domains", "--registration", str(env_file),
                  f"authsite init --production --folder {folder}"):  # fmt: skip
        assert words in said
    # As it says:
    with open(env_file, "a") as file:
        file.write(f"AUTHSITE_BASE_URL={BASE_URL}\nAUTHSITE_DATABASE_URL=sqlite:///own.sqlite\n")
    said = home.run("init", "--production", "--folder", str(folder)).stdout
    assert "Without a value: AUTHSITE_REGISTRATION." in said
    with open(env_file, "a") as file:
        file.write("AUTHSITE_REGISTRATION=off\n")
    said = home.run("init", "--production", "--folder", str(folder)).stdout
    assert (folder / "own.sqlite").exists()
    assert f"authsite serve --config {ini}" in said
    home.run("doctor", "--config", str(ini))


def test_init_production_in_one_step_and_again(tmp_path, fresh_url):
    home = Home(tmp_path)
    options = ["init", "--production", "--base-url", BASE_URL, "--database-url", fresh_url]
    options += ["--registration", "domains=Corp.Example,bücher.example"]

    home.run(*options)

    env_file = tmp_path / "authsite.env"
    names = [line.split("=")[0] for line in env_file.read_text().splitlines()]
    assert sorted(names) == [
        "AUTHSITE_BASE_URL",
        "AUTHSITE_DATABASE_URL",
        "AUTHSITE_SEALING_KEY",
        "AUTHSITE_SECRET",
        "CLIENT_WEB_ID",
        "CLIENT_WEB_SECRET",
    ]
    written = env_file.read_text()
    ini = tmp_path / "production.ini"
    lines = ini.read_text().splitlines()
    assert "authsite.registration = domains" in lines
    assert "authsite.registration-domains = corp.example xn--bcher-kva.example" in lines
    packaged = (CHECKOUT / "production.ini").read_text().splitlines()
    assert len(set(lines) - set(packaged)) == 2
    ini.write_text(f"{ini.read_text()}# ours\n")
    home.run(*options)
    home.run("init", "--production")
    assert env_file.read_text() == written
    assert ini.read_text().endswith("# ours\n")
    refused = home.run(*options[:3], "https://other.example.org", status=1).stderr
    assert f"AUTHSITE_BASE_URL has another value already, in {env_file}" in refused
    refused = home.run("init", "--production", "--registration", "off", status=1).stderr
    assert "authsite.registration has another value already, from authsite.registration" in refused
    elsewhere = {"AUTHSITE_BASE_URL": "https://another.example.org"}
    refused = home.run(*options, status=1, **elsewhere).stderr
    assert "AUTHSITE_BASE_URL has another value already, in the environment" in refused


def test_init_production_takes_the_values_from_the_environment(tmp_path, fresh_url):
    home = Home(tmp_path)
    given = {"AUTHSITE_BASE_URL": BASE_URL, "AUTHSITE_DATABASE_URL": fresh_url}
    given |= {"AUTHSITE_REGISTRATION": "on"}

    home.run("init", "--production", "--folder", "site", **given)

    assert "AUTHSITE_BASE_URL" not in (tmp_path / "site/authsite.env").read_text()
    home.run("doctor", "--config", "site/production.ini", **given)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--folder", "x"], 2, "--production"),
        (["--base-url", BASE_URL], 2, "--production"),
        (["--registration", "on"], 2, "--production"),
        (["--production", "--registration", "maybe"], 2, "on, off, invite, or domains="),
        (["--production", "--registration", "domains="], 2, "on, off, invite, or domains="),
        (["--production", "--registration", "domains=*.corp.example"], 2, "whole domains"),
        (["--production", "--config", "x.ini"], 2, "--config"),
        (["--production", "--base-url", "auth.example.org"], 1, "authsite.base-url"),
        (["--production", "--database-url", "mysql://x"], 1, "authsite.database-url"),
        (["--production", "--folder", "/proc/nothing"], 1, "--folder"),
    ],
)
def test_init_refuses_what_it_cannot_do(home, arguments, status, words):
    done = home.run("init", *arguments, status=status)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home.folder / "production.ini").exists()
