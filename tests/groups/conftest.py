"""A site with scopes for groups, and its commands."""

import pytest

from tests.support.in_process import Commands, write_ini

SCOPES = (
    "\n  notes:read: Read notes\n  payments:write [groups]: Pay\n  payments:read [groups]: Look"
)
SETTINGS = {"scopes": SCOPES, "personal_token_scopes": "notes:read payments:write"}


class GroupCommands(Commands):
    """The commands on a site whose settings mark scopes with ``[groups]``."""

    def __init__(self, site, folder):
        self.ini = write_ini(folder / "site.ini", site.url, scopes=SCOPES)


@pytest.fixture
def site(site_with):
    """A site with Ann and Bo, who are confirmed."""
    made = site_with(**SETTINGS)
    for email in ("ann@example.com", "bo@example.com"):
        made.user(email, confirmed=True)
    return made


@pytest.fixture
def commands(site, tmp_path):
    return GroupCommands(site, tmp_path)


@pytest.fixture
def payers(commands):
    """The commands, where Ann is in a group that gives payments:write."""
    commands.run("group", "create", "payers", "--title", "Payers", "--scope", "payments:write")
    commands.run("group", "add", "payers", "ann@example.com")
    return commands
