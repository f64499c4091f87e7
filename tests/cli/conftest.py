"""Fixtures for ``authsite doctor``."""

import os

import pytest

from authsite.cli.doctor import examine
from tests.support.doctor import WEB_IS
from tests.support.home import OURS
from tests.support.site import SECRET, WEB


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, and a process without variables of authsite."""
    for name in list(os.environ):
        if name.startswith(OURS):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def found(folder, monkeypatch, site_with):
    """The findings for a set-up with these variables, on a database with the client ``web``."""
    site = site_with(**WEB)
    site.first_party("web")

    def examined(url=site.url, ini="authsite.bcrypt-cost = 12", **variables):
        (folder / "some.ini").write_text(f"[app:main]\nuse = egg:authsite\n{ini}\n")
        given = {"AUTHSITE_SECRET": SECRET, "AUTHSITE_DATABASE_URL": url, **WEB_IS}
        for name, value in {**given, **variables}.items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return list(examine("some.ini"))

    examined.site = site
    return examined
