"""What authsite relies on of its dependencies is what they document (S4)."""

import re
from pathlib import Path

import authsite

_PRIVATE = re.compile(r"(?:from|import) +(?:granian|webob|pyramid|sqlalchemy|psycopg)[\w.]*\._\w+")


def test_s4_no_module_imports_private_parts_of_a_dependency():
    """S4: a patch release of Granian could have changed what the server was built on."""
    for path in Path(authsite.__file__).parent.rglob("*.py"):
        assert not _PRIVATE.search(path.read_text()), path
