"""``make bench-peers``: measures authsite and its peers in one run and prints one table.

The folder of the peers' program (``PEERS=``) holds one folder for each peer, with its application,
its settings and what it needs; its ``setup.sh`` installs that once. Two peers are measured by
folders beside this file. It takes about an hour on an idle machine; a run that other work disturbed
is repeated. With ``--write`` the table in docs/performance.md becomes that of this run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from . import table

ROOT = Path(__file__).parents[2]
EVERYTHING = (
    "limits:bcrypt_limit,mixed",
    "bench.peers",
    "dot",
    "bench.peers.toolkit",
    "bench.peers.two_steps",
    "fau",
    "authlib_peer",
    "oidc",
)


def main():
    """Run the peers' program with authsite among them, or print what it measured before."""
    options = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    options.add_argument("folder", type=Path, nargs="?", help="of the peers' program")
    options.add_argument("--only", nargs="*", default=EVERYTHING, help="what is measured")
    options.add_argument("--label", default="latest")
    options.add_argument("--write", action="store_true", help="docs/performance.md")
    given = options.parse_args()
    program = given.folder and given.folder / "run_peers.py"
    if not program or not program.exists():
        raise SystemExit(
            "The peers' program is not part of this repository: name the folder that holds its "
            "run_peers.py, as in `make bench-peers PEERS=../peers`."
        )
    # Their Python has nothing of ours: a library of ours is called as a folder of theirs.
    python = Path(sys.base_prefix) / "bin" / "python3"
    environment = {**os.environ, "BENCH_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [python, program.resolve(), "--label", given.label, *given.only],
        env=environment,
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    home = Path(os.environ.get("PEERS_HOME") or Path(tempfile.gettempdir()) / "peers-home")
    results = json.loads((home / "results" / f"{given.label}.json").read_text())
    print(table.render(results))
    if given.write:
        page = ROOT / "docs" / "performance.md"
        page.write_text(table.page(results, page.read_text()))


if __name__ == "__main__":
    main()
