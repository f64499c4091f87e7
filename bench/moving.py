"""``python -m bench.moving``: how long importing users and exporting everything takes.

Fills the database with token families and their users, imports users with hashes as Laravel has
them from a CSV file, and exports everything. Prints seconds, rows a second and memory.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import filling, machine
from .seed import ini

HASH = machine.HASH.decode().replace("$2b$", "$2y$")


def main():
    """Fill, import, export, and print a table."""
    options = argparse.ArgumentParser(prog="python -m bench.moving", description=__doc__)
    options.add_argument("--url", required=True, help="of an empty database; it is filled")
    options.add_argument("--users", type=int, default=100_000)
    options.add_argument("--rows", type=int, default=1_000_000, help="token families to export")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-moving-") as name:
        folder = Path(name)
        config = ini(folder, given.url)
        filling.fill(given.url, given.rows, given.rows)
        source = folder / "users.csv"
        lines = (f"{n},User {n},user{n}@shop.example,{HASH}\n" for n in range(given.users))
        source.write_text("id,name,email,password_hash\n" + "".join(lines))
        print(f"{machine.describe()}\n")
        print("| what | rows | seconds | rows/s | MB |\n|---|---|---|---|---|")
        run("import csv", given.users, "import", "csv", source, "--config", config)
        output = folder / "all.jsonl"
        arguments = ["export", "--output", output, "--config", config, "--json"]
        run("export", None, *arguments)


def run(what, rows, *arguments):
    """Run one command, and print how long it took and the most memory that it had."""
    command = [sys.executable, "-m", "authsite", *map(str, arguments)]
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        output.seek(0)
        printed = output.read()
    if os.waitstatus_to_exitcode(status):
        sys.exit(printed)
    rows = rows or sum(v for v in json.loads(printed).values() if isinstance(v, int))
    memory = usage.ru_maxrss / 1024  # kilobytes on Linux
    print(f"| {what} | {rows:,} | {seconds:.1f} | {rows / seconds:,.0f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
