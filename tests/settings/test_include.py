"""The settings in a Pyramid application, and what importing them costs."""

import logging
import os
import subprocess
import sys

import pytest
from pyramid.config import Configurator
from pyramid.request import Request, apply_request_extensions

from authsite.platform.settings import Secret, Settings, SettingsError

SECRET = "rA0t3vPqZ9_kWmB7yXn5-cLdE1sFhJ2g"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder, and a process without variables of authsite."""
    for name in list(os.environ):
        if name.startswith(("AUTHSITE_", "CLIENT_", "API_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def included(settings):
    config = Configurator(settings=settings)
    config.include("authsite.platform.context")
    config.include("authsite.platform.request_state")
    config.include("authsite.platform.request_context")
    config.commit()
    return config.registry


def test_a_request_has_the_settings():
    registry = included({"authsite.secret": SECRET, "authsite.variant": "B"})
    request = Request.blank("/")
    request.registry = registry
    apply_request_extensions(request)

    assert isinstance(request.authsite.settings, Settings)
    assert request.authsite.settings is registry["authsite"].settings
    assert request.authsite.settings.variant == "B"


@pytest.mark.control("K04")
def test_a_wrong_setting_stops_the_start():
    with pytest.raises(SettingsError, match=r"did you mean authsite\.variant"):
        included({"authsite.secret": SECRET, "authsite.varian": "B"})


def test_h7_smtp_without_our_own_address_stops_the_start():
    with pytest.raises(SettingsError, match=r"authsite\.base-url: it is not set, and mail-driver"):
        included({"authsite.secret": SECRET, "authsite.mail-driver": "smtp"})


@pytest.mark.control("K01")
def test_a_sample_secret_stops_the_start():
    with pytest.raises(SettingsError, match=r"authsite\.secret = \(hidden\)"):
        included({"authsite.secret": "changeme" * 5})


def test_the_environment_file_counts(tmp_path):
    (tmp_path / "var").mkdir()
    (tmp_path / "var/authsite.env").write_text(f"AUTHSITE_SECRET={SECRET}\n")

    assert included({})["authsite"].settings.secret == (Secret(SECRET),)


def test_trial_7_the_file_beside_the_ini_counts_whatever_the_working_directory(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "authsite.env").write_text(f"AUTHSITE_SECRET={SECRET}\n")

    cfg = included({"__file__": str(site / "host.ini")})["authsite"].settings

    assert cfg.secret == (Secret(SECRET),)
    assert cfg.mail_folder == str(site / "var/mail")


@pytest.mark.control("K02")
def test_the_application_s_settings_do_not_show_a_secret_any_more():
    registry = included({"authsite.secret": SECRET})

    assert SECRET not in repr(registry.settings)
    assert registry.settings["authsite.secret"] == SECRET


@pytest.mark.control("T17")
def test_unknown_variables_are_warned_of_at_the_start(monkeypatch, caplog):
    monkeypatch.setenv("AUTHSITE_BASEURL", "https://x.test")

    with caplog.at_level(logging.WARNING, "authsite.settings"):
        included({"authsite.secret": SECRET, "authsite.refresh-expires-in": "30d"})

    assert [record.message.split(" ")[0] for record in caplog.records] == [
        "authsite.sealing-key:",
        "AUTHSITE_BASEURL",
    ]


def test_importing_the_settings_imports_nothing_outside_the_standard_library():
    code = (
        "import sys, authsite; before = set(sys.modules);"
        "import authsite.platform.settings as settings;"
        f"settings.load({{}}, {{'AUTHSITE_SECRET': {SECRET!r}}});"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert set(run.stdout.split()) <= {"authsite", *sys.stdlib_module_names}
