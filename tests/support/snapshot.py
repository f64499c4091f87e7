"""What must be equal before and after a change of the structure, written into a folder.

    python -m tests.support.snapshot var/before     # then change the structure
    python -m tests.support.snapshot var/after
    diff -r var/before var/after

The API document, the help of every command, the pages that come from the code, the export schema,
routes and views with all their options, the tables, the names of all tests, and the calls of the
walks of `figures`. ``--pictures`` adds the pictures of all pages in two languages.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from tests.support import (
    api_reference,
    audit_reference,
    cli_reference,
    databases,
    error_reference,
    figures,
    settings_reference,
)

ROOT = Path(__file__).parents[2]
DIALECTS = {"postgresql": postgresql.dialect(), "sqlite": sqlite.dialect()}
LANGUAGES = ("en", "de")


def plain(value):
    """``value`` without the modules that things are in, and without addresses in memory."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in sorted(value.items(), key=str)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, map(plain, value)))
    if isinstance(value, str | int | float | bool | None):
        return value
    name = getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"<{name}>"


def introspected(site):
    """Routes, views and what packages have registered, each with its options."""
    found = {}
    for category, items in site.app.registry.introspector.categorized():
        rows = [
            json.dumps(plain(dict(item["introspectable"])), sort_keys=True, default=str)
            for item in items
        ]
        found[category] = sorted(rows)
    return found


def tables():
    """The statements that make the tables, on each database."""
    from authsite import models
    from authsite.platform.db.base import Base

    assert models
    for name, dialect in DIALECTS.items():
        for table in sorted(Base.metadata.tables.values(), key=lambda each: each.name):
            yield f"-- {name}\n{CreateTable(table).compile(dialect=dialect)}"
            for index in sorted(table.indexes, key=lambda each: str(each.name)):
                yield str(CreateIndex(index).compile(dialect=dialect))


def items():
    """The names of all tests, without the files that they are in."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist"]
    listed = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout
    return sorted(line.partition("::")[2] for line in listed.splitlines() if "::" in line)


def write(folder):
    """Write all of it into ``folder``, which is emptied first."""
    from tests.support.site import Site

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def put(name, text):
        (folder / name).write_text(text if text.endswith("\n") else f"{text}\n", "utf-8")

    with tempfile.TemporaryDirectory() as place:
        url = databases.migrated(f"sqlite:///{place}/snapshot.sqlite")
        site = Site(url, base_url="http://localhost", openid="on", admin_console="on",
                    admin_api="on", client_registration="open")  # fmt: skip
        document = site.http.get("/v1/openapi.json").json
        put("openapi.json", json.dumps(document, indent=1, sort_keys=True))
        put("introspected.json", json.dumps(introspected(site), indent=1))
        site.database.dispose()
    for module in (api_reference, audit_reference, error_reference, settings_reference):
        put(f"{module.__name__.rpartition('.')[2]}.md", module.page())
    put("cli_reference.md", cli_reference.page())
    put("export.schema.json", (ROOT / "docs/export.schema.json").read_text("utf-8"))
    put("tables.sql", "\n".join(tables()))
    put("tests.txt", "\n".join(items()))
    calls = {name: walk.calls for name, walk in figures.walks().items()}
    put("calls.json", json.dumps(calls, indent=1))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
    if "--pictures" in sys.argv:
        for language in LANGUAGES:
            target = Path(sys.argv[1]) / "pictures" / language
            command = [sys.executable, "-m", "tests.system.browser.gallery", target, language]
            subprocess.run(list(map(str, command)), cwd=ROOT, check=True)
