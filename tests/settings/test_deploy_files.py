"""deploy/: the documentation shows these files, and what they name exists."""

import re

import pytest
import yaml

from authsite.settings import unknown_variables
from tests.support.home import CHECKOUT

DEPLOY = CHECKOUT / "deploy"
COMPOSE = DEPLOY / "container" / "compose.yaml"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"


def blocks(page, language):
    """The code blocks of a page of the documentation."""
    text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


@pytest.mark.parametrize(
    ("language", "file"), [("ini", "systemd/authsite.service"), ("nginx", "nginx/authsite.conf")]
)
def test_the_installation_page_shows_the_file(language, file):
    assert blocks("production.md", language) == [(DEPLOY / file).read_text(encoding="utf-8")]


def test_the_unit_takes_every_right_away_that_it_can():
    unit = (DEPLOY / "systemd" / "authsite.service").read_text()
    for line in (
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "PrivateTmp=yes",
        "MemoryDenyWriteExecute=yes",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "SystemCallFilter=@system-service",
    ):
        assert f"\n{line}\n" in unit


def test_the_containers_are_read_only_and_their_variables_are_settings():
    compose = yaml.safe_load(COMPOSE.read_text())
    services = compose["services"]
    for name in ("authsite", "init", "nginx"):
        assert services[name]["read_only"] is True
        assert "no-new-privileges:true" in services[name]["security_opt"]
    assert "init" not in [name for name in services if "profiles" not in services[name]]
    named = services["authsite"]["environment"]
    assert unknown_variables(dict.fromkeys(named, "x")) == []
    given = set(re.findall(r"\$\{(\w+)", COMPOSE.read_text()))
    example = (DEPLOY / "container" / "env.example").read_text()
    assert given == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_each_alert_names_a_section_of_the_operations_page():
    text = (CHECKOUT / "docs" / "operations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
    rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    for rule in rules:
        assert rule["annotations"]["runbook"] in anchors
        assert rule["labels"]["severity"] in ("page", "ticket")
