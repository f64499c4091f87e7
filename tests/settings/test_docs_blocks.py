"""Every page of the documentation is in the navigation, and every block of code in it is run.

For each page: which tests run or compare its blocks. Blocks with the title "Not run by our tests"
are counted.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import click
import pytest
import yaml

from authsite.cli import authsite
from authsite.platform.settings.definitions import find_definition, normalize
from tests.support import guides
from tests.support.home import CHECKOUT
from tests.system.servers.test_docs_guides import PAGES

DOCS = sorted(path.stem for path in (CHECKOUT / "docs").glob("*.md"))
ALL = ["README.md", "CONTRIBUTING.md", *DOCS]
HERE = "tests/settings/test_docs_blocks.py"
CHECKED = {
    **{page: ["tests/system/servers/test_docs_guides.py"] for page in PAGES},
    "README.md": [HERE],
    "CONTRIBUTING.md": [HERE],
    "apiato": ["tests/http/test_apiato_docs.py"],
    "attack-suite": [HERE],
    "audit": [HERE],
    "backup": [
        HERE,
        "tests/system/servers/test_cli_backup.py",
        "tests/system/servers/test_docs_restore.py",
    ],
    "branding": ["tests/ui/test_branding_docs.py"],
    "cli": ["tests/cli/test_reference.py"],
    "common-tasks": [HERE],
    "clients": ["tests/client/test_docs.py", "tests/system/servers/test_docs_guides.py"],
    **{
        page: ["tests/client/test_docs_frameworks.py", "tests/system/servers/test_docs_guides.py"]
        for page in ("django", "fastapi", "flask", "service-to-service")
    },
    **{
        f"connect-{name}": ["tests/cli/test_client_add.py"]
        for name in ("airflow", "apache", "django", "flask", "jupyterhub", "superset")
    },
    "connect-kubernetes": ["tests/authorization/test_kubectl.py"],
    "devices": ["tests/client/test_device.py"],
    "factor-lost": [HERE],
    "forward-auth": ["tests/guards/test_forward_auth_proxies.py"],
    "gateway": ["tests/oidc/test_jwt_access_tokens.py"],
    "groups": [HERE],
    "guards": ["tests/guards/test_docs_guards.py"],
    "hardening": ["tests/db/test_privileges.py", HERE],
    "high-availability": [HERE],
    "limits": [HERE],
    "login-python": ["tests/client/test_docs_login.py"],
    "mail": [HERE],
    "managed-postgresql": ["tests/settings/test_kubernetes_manifest.py"],
    "mcp-server": ["tests/registering/test_mcp.py", "tests/clients/test_mcp.py"],
    "monitoring": [HERE],
    "moving": ["tests/importing/test_docs.py"],
    "openid": [HERE],
    "openid-requests": [HERE, "tests/oidc/test_docs_claims.py"],
    "operations": ["tests/settings/test_operations_docs.py"],
    **{
        page: ["tests/settings/test_docs_factors.py"]
        for page in ("passkeys", "require-factor", "second-factors")
    },
    "performance-notes": [HERE],
    "production": ["tests/settings/test_production_docs.py", "tests/support/manual.py"],
    "reliability": [HERE],
    "scaling": [HERE, "tests/settings/test_failover_docs.py"],
    "sign-in-authsite": ["tests/support/peers.py"],
    "sign-in-company": [HERE],
    "sign-in-entra": [HERE],
    "sign-in-google": [HERE],
    "tokens": ["tests/system/servers/test_docs_guides.py", HERE],
    "web-client": [HERE],
}
# Why a block cannot run: it installs from a package index, needs another system, or is endless.
NOT_RUN = {
    "CONTRIBUTING.md": 2,
    "administration-performance": 1,
    "attack-suite": 1,
    "conformance": 1,
    "connect-argocd": 2,
    "connect-gitea": 2,
    "connect-grafana": 2,
    "connect-kubernetes": 3,
    "connect-nextcloud": 2,
    "connect-oauth2-proxy": 2,
    "django": 1,
    "devices": 3,
    "docker": 5,
    "fastapi": 1,
    "first-administrator": 2,
    "gateway": 1,
    "flask": 1,
    "groups": 2,
    "groups-grafana": 2,
    "login-python": 1,
    "managed-postgresql": 1,
    "mcp-server": 4,
    "monitoring": 1,
    "protect-api": 1,
    "provisioning": 2,
    "service-to-service": 1,
    "third-party": 1,
    "ways-in": 2,
}


def text(page):
    path = CHECKOUT / (page if "." in page else f"docs/{page}.md")
    return path.read_text("utf-8")


def test_every_page_is_in_the_navigation():
    found = yaml.safe_load((CHECKOUT / "mkdocs.yml").read_text("utf-8"))["nav"]
    listed = set(re.findall(r"([\w/-]+)\.md", str(found)))
    assert set(DOCS) <= listed, "add it to nav in mkdocs.yml"


@pytest.mark.parametrize("page", ALL)
def test_the_blocks_of_a_page_are_run_or_marked(page):
    found = [each for each in guides.blocks(page) if each.language not in guides.OUTPUT]
    assert all(each.language for each in found), "name the language of each block"
    assert not re.search(r"(?:^|\n\n)    \S", guides.FENCE.sub("", text(page))), (
        "an indented block: use ``` and a language"
    )
    marked = [each for each in found if each.title == guides.NOT_RUN]
    assert len(marked) == NOT_RUN.get(page, 0)
    if len(found) > len(marked):
        assert page in CHECKED, "run its blocks in a test, and name the test in CHECKED"
        name = page if "." in page else f"{page}.md"
        for module in CHECKED[page]:
            source = (CHECKOUT / module).read_text("utf-8")
            assert name in source or f'"{page}"' in source, module


@pytest.mark.parametrize("page", ALL)
def test_a_link_that_names_a_file_leads_to_it(page):
    for name, target in re.findall(r"\[([\w./-]+\.md)\]\(([^)#]+)", text(page)):
        assert Path(name).name == Path(target).name, (name, target)


def test_the_first_lines_for_flask_are_the_same_on_both_pages():
    """tests/client/test_docs_frameworks.py runs those of docs/flask.md."""
    [shown] = [each.text for each in guides.blocks("common-tasks") if each.language == "python"]
    assert shown == next(each.text for each in guides.blocks("flask") if each.language == "python")


def shell(page):
    return "".join(each.text for each in guides.commands(page)).replace("\\\n", " ")


@pytest.mark.parametrize(
    "page", ["audit", "backup", "common-tasks", "factor-lost", "mail", "openid", "openid-requests"]
)
def test_a_command_exists_with_its_options(page):
    lines = re.findall(r"(?:^|bin/|\| )authsite ([^#\n&]*)", shell(page), re.MULTILINE)
    assert lines
    for line in lines:
        words = shlex.split(re.sub(r"\bID\b", str(UUID(int=0)), line))
        command, context = authsite, click.Context(authsite, **authsite.context_settings)
        while isinstance(command, click.Group):
            command = command.get_command(context, words.pop(0))
            assert command is not None, line
        command.make_context("authsite", words, parent=context)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *DOCS])
def test_what_make_and_python_run_exists(page):
    targets = re.findall(r"^([\w-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    lines = shell(page)
    assert set(re.findall(r"^make ([\w-]+)", lines, re.MULTILINE)) <= set(targets)
    for module in re.findall(r"python -m ((?:bench|tests)[\w.]*)", lines):
        path = CHECKOUT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    for block in guides.blocks(page):
        if block.language == "sh":
            subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


def test_the_web_client_has_what_its_page_calls():
    types = (CHECKOUT / "authsite/static/client/authsite.d.ts").read_text()
    shown = [each.text for each in guides.blocks("web-client") if each.language == "js"]
    called = set(re.findall(r"auth\.(\w+)", "".join(shown)))
    assert len(called) > 4
    assert {name for name in called if not re.search(rf"\b{name}\b", types)} == set()


def test_the_clients_of_other_languages_are_called_as_tokens_md_says():
    script = (CHECKOUT / "tests/system/node/openid-client.mjs").read_text()
    [block] = [each for each in guides.blocks("tokens") if each.language == "js"]
    called = re.findall(r"(?:oauth|client)\.(\w+)\(", block.text)
    assert len(called) > 3
    assert {name for name in called if name not in script} == set()


@pytest.mark.parametrize("page", ALL)
def test_every_setting_in_a_block_is_one_of_ours(page):
    for block in guides.blocks(page):
        for key in re.findall(r"^authsite\.(\S+) =", block.text, re.MULTILINE):
            assert find_definition(normalize(key)), key


def test_the_code_of_a_limit_is_that_of_the_registration():
    [block] = [each for each in guides.blocks("limits") if each.language == "python"]
    source = (CHECKOUT / "authsite/signup/api.py").read_text()
    for word in re.findall(r'[\w.]+="[^"]+"|body=\w+', block.text):
        assert word in source, word


def test_the_example_for_prometheus_has_the_fields_of_ours():
    [block] = [each for each in guides.blocks("monitoring") if each.language == "yaml"]
    [shown] = yaml.safe_load(block.text)["scrape_configs"]
    ours = yaml.safe_load((CHECKOUT / "deploy/prometheus/prometheus.yaml").read_text())
    assert shown.keys() <= ours["scrape_configs"][0].keys() | {"authorization"}


def test_the_commands_for_translators_change_nothing_that_is_up_to_date(tmp_path):
    """docs/mail.md: extract, update, compile, and a new language."""
    shutil.copytree(
        CHECKOUT / "authsite", tmp_path / "authsite", ignore=lambda *_: {"static", "__pycache__"}
    )
    lines = [line for line in shell("mail").splitlines() if line.startswith("pybabel")]
    assert len(lines) == 4
    bin_folder = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    command = ["bash", "-euc", "\n".join(lines)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "authsite/locale/it/LC_MESSAGES/authsite.po").exists()
    for path in sorted((CHECKOUT / "authsite/locale").glob("*/LC_MESSAGES/authsite.po")):
        made = tmp_path / path.relative_to(CHECKOUT)
        assert messages(made) == messages(path)


def messages(path):
    """The translations of a catalogue, without its dates."""
    return path.read_text("utf-8").partition("\n\n")[2]
