"""docs/scopes.md: its commands run one after the other, and print what it says."""

import os
import re
import subprocess
import sys

import pytest

from tests.support.home import CHECKOUT, OURS, Home
from tests.support.servers import serving

TEXT = (CHECKOUT / "docs/scopes.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
END = "---- end of block ----"


@pytest.fixture
def home(tmp_path):
    """The folder of a newcomer: development.ini with the scopes of the page, and the command."""
    home = Home(tmp_path)
    [setting] = [text for language, text in BLOCKS if language == "ini"]
    ini = home.ini.read_text()
    assert ini.count("# authsite.scopes =\n") == 1
    home.ini.write_text(ini.replace("# authsite.scopes =\n", setting))
    home.run("init")
    command = tmp_path / ".venv" / "bin" / "authsite"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m authsite "$@"\n')
    command.chmod(0o755)
    return home


def test_the_commands_print_what_the_page_says(home):
    shown = list(expectations())
    assert len(shown) > 8
    variables = {"AUTHSITE_ENV_FILE": str(home.env_file), "AUTHSITE_BCRYPT_COST": "10"}
    with serving(home.ini, **variables) as http:
        url = str(http.base_url).rstrip("/")
        script = "".join(f"{commands}\necho\necho '{END}'\n" for commands, _ in shown)
        environ = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail"],
            input=script.replace("http://localhost:6543", url),
            cwd=home.folder,
            env={**environ, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(f"\n{END}\n")
    for (commands, expected), output in zip(shown, printed, strict=False):
        assert re.fullmatch(expected, output.replace("\r", "").strip()), commands
    assert len(printed) == len(shown) + 1


def expectations():
    """Each block of commands, with a pattern of its output; ``…`` stands for any text."""
    for number, (language, commands) in enumerate(BLOCKS):
        if language != "sh":
            continue
        following = BLOCKS[number + 1] if number + 1 < len(BLOCKS) else ("", "")
        output = following[1] if following[0] in ("text", "json") else ""
        yield commands, re.escape(output.strip()).replace("…", "[^ ]+")
