"""docs/production.md, so that what it says is what the tests do."""

import re
import shlex

from tests.support.installed import CHECKOUT


def nginx():
    """The configuration of nginx."""
    [block] = _blocks("nginx")
    return block


def command(*words, **values):
    """The arguments of the command ``authsite {words} …``, with ``values`` of its options.

    ``base_url="…"`` replaces what stands after ``--base-url``.
    """
    text = "\n".join(_blocks("sh") + _blocks("ini")).replace("\\\n", " ")
    found = re.findall(rf"venv/bin/(authsite {re.escape(' '.join(words))}\b.*)", text)
    arguments = shlex.split(found[0])
    for name, value in values.items():
        arguments[arguments.index(f"--{name.replace('_', '-')}") + 1] = str(value)
    return arguments


def environment_lines():
    """The lines that are added to the environment file."""
    [lines] = re.findall(r"authsite\.env <<'END'\n(.*?)END\n", _text(), re.DOTALL)
    return lines


def _blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", _text())


def _text():
    return (CHECKOUT / "docs" / "production.md").read_text()
