"""``python -m notes``: create authsite's tables, secret and first client, then serve."""

import subprocess
import sys
from pathlib import Path

from pyramid.scripts.pserve import main as pserve

INI = Path(__file__).parents[1] / "notes.ini"

if __name__ == "__main__":
    init = [sys.executable, "-m", "authsite", "init", "--config", str(INI)]
    if status := subprocess.run(init).returncode:
        sys.exit(status)
    sys.exit(pserve(["pserve", str(INI)]))
