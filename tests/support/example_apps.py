"""The applications in examples/ as processes, started as their README says."""

import os
import subprocess
import sys
from contextlib import contextmanager

import httpx

from tests.support.commands import CHECKOUT
from tests.support.servers import free_port, stop, wait_for_port

EXAMPLES = CHECKOUT / "examples"


@contextmanager
def example_app(name, authsite_url, keys, log):
    """``python app.py`` in the folder of an example; yields an httpx client."""
    port = free_port()
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")},
        "PYTHONPATH": str(CHECKOUT / "clients" / "python"),
        "AUTH_URL": authsite_url,
        "AUTH_CLIENT_ID": keys.client_id,
        "AUTH_CLIENT_SECRET": keys.client_secret,
        "PORT": str(port),
    }
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=EXAMPLES / name, env=environ,
            stdout=output, stderr=output,
        )  # fmt: skip
    # Each request has its own connection: the servers close idle ones, also at the moment of use.
    limits = httpx.Limits(max_keepalive_connections=0)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits)
    try:
        wait_for_port(port, process)
        client.name = name
        yield client
    finally:
        client.close()
        stop(process)
