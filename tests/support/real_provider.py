"""npm `oidc-provider` as another provider: at ``https://localhost``, so on another site."""

import json
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.support.servers import free_port, stop, wait_for_port

FOLDER = Path(__file__).parents[1] / "system/node"
NODE = shutil.which("node")
CLIENT = {"id": "authsite", "secret": "the secret of a real provider"}


def installed():
    """Whether there is Node.js with the provider."""
    return NODE and (FOLDER / "node_modules/oidc-provider").is_dir()


@contextmanager
def real_provider(folder, certificate, redirect_uri):
    """The issuer of a running provider; ``certificate`` is one for ``localhost`` with its key."""
    port = free_port()
    issuer = f"https://localhost:{port}"
    given = {
        "issuer": issuer,
        "port": port,
        "certificate": str(certificate),
        "client": CLIENT,
        "redirectUri": redirect_uri,
    }
    with open(folder / "provider.log", "wb") as log:
        process = subprocess.Popen(
            [NODE, "provider.mjs", json.dumps(given)], cwd=FOLDER, stdout=log, stderr=log
        )
    try:
        wait_for_port(port, process)
        yield issuer
    finally:
        stop(process)
