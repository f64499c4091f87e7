"""``python -m bench.revocation``: how long a revoked token is accepted by forward auth.

Two processes answer forward auth; another server revokes 1,000 tokens, one after another in each of
40 threads. Shown is the longest time from the response to the revocation until the start of the
last request that was accepted, without and with guard-cache.
"""

import argparse
import http.client
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import machine, seed

TOKENS, THREADS, CONNECTIONS = 1000, 40, 4
WATCHED = 0.5  # seconds beyond the time of guard-cache


def main():
    """Print the longest time for each setting."""
    options = argparse.ArgumentParser(prog="python -m bench.revocation", description=__doc__)
    options.add_argument("--url", help="a database of your own; it is filled and not emptied")
    options.add_argument("--guard-cache", nargs="*", type=int, default=[0, 1], help="seconds")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="authsite-bench-") as name:
        folder = Path(name)
        url = given.url or f"sqlite:///{folder}/bench.sqlite"
        plain = seed.ini(folder, url)
        files, _, keys = seed.fill(folder, url, 0)
        tokens = iter(files["access"].read_text().split())
        for seconds in given.guard_cache:
            cached = seed.ini(folder, url, f"cached{seconds}", guard_cache=f"{seconds}s")
            some = [next(tokens) for _ in range(TOKENS)]
            times = sorted(measure(plain, cached, some, keys, seconds + WATCHED))
            print(
                f"guard-cache = {seconds}s: longest of {TOKENS} revocations"
                f" {times[-1]:.3f} s, median {times[TOKENS // 2]:.3f} s"
            )


def measure(plain, cached, tokens, keys, watched):
    """The time for each of ``tokens``, in seconds; each is watched for ``watched`` seconds."""
    ports = [machine.free_port() for _ in range(2)]
    serve = ("-m", "authsite", "serve", "--config")
    no_env_file = {"AUTHSITE_ENV_FILE": os.devnull}
    with (
        machine.process(*serve, plain, "--port", ports[0], port=ports[0], **no_env_file),
        machine.process(
            *serve, cached, "--port", ports[1], "--workers", 2, port=ports[1], **no_env_file
        ),
        ThreadPoolExecutor(THREADS) as pool,
    ):
        time.sleep(2)
        return list(pool.map(lambda token: revoke(ports, token, keys, watched), tokens))


def revoke(ports, token, keys, watched):
    """Seconds for which ``token`` is accepted after the response to its revocation."""
    guards = [http.client.HTTPConnection("127.0.0.1", ports[1]) for _ in range(CONNECTIONS)]
    if not all(accepted(guard, token) for guard in guards * 2):
        raise SystemExit("a token was not accepted before it was revoked")
    server = http.client.HTTPConnection("127.0.0.1", ports[0])
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    server.request("POST", "/v1/oauth/revoke", f"token={token}{keys}", form)
    if server.getresponse().status != 200:
        raise SystemExit("the token could not be revoked")
    revoked = time.monotonic()
    longest = 0.0
    while time.monotonic() < revoked + watched:
        for guard in guards:
            started = time.monotonic()
            if accepted(guard, token):
                longest = max(longest, started - revoked)
        time.sleep(0.01)
    for connection in (*guards, server):
        connection.close()
    return longest


def accepted(connection, token):
    """Whether forward auth accepts the token."""
    connection.request("GET", "/v1/guard/api", headers={"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    response.read()
    return response.status == 204


if __name__ == "__main__":
    main()
