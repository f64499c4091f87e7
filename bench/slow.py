"""``python -m bench.slow``: slow clients and bodies that are too large (R14, R15).

The same attacks on authsite on Granian's plain WSGI server, on ``authsite serve``, and on nginx
in front of the plain WSGI server; SQLite, two workers.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import load, machine, seed, trickle

WORKERS = 2
GUARDED, TOKENS = 200, 5  # a second
HALF_HEADS, SLOW_BODIES = 500, 100
MEGABYTES = b"a" * 65536
FORM = "application/x-www-form-urlencoded"
NO_ENV_FILE = {"AUTHSITE_ENV_FILE": os.devnull}
NGINX = """\
{user}
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/nginx.log warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_header_timeout 10s; client_body_timeout 10s;
    upstream authsite {{ server 127.0.0.1:{backend}; keepalive 32; keepalive_timeout 20s; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://authsite;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


def main():
    """Run everything and print the tables."""
    options = argparse.ArgumentParser(prog="python -m bench.slow", description=__doc__)
    options.add_argument("--seconds", type=int, default=60, help="of the slow clients")
    options.add_argument("--only", action="append", choices=["wsgi", "serve", "nginx"])
    options.add_argument("--much", type=int, default=20, help="seconds of what is too much")
    options.add_argument("--rounds", type=int, default=3, help="of the throughput; 0 for none")
    given = options.parse_args()
    names = given.only or ["wsgi", "serve", "nginx"]
    print(f"{machine.describe()}; {WORKERS} workers\n")
    with tempfile.TemporaryDirectory(prefix="authsite-slow-") as name:
        folder = Path(name)
        ini = seed.ini(folder, f"sqlite:///{folder}/slow.sqlite")
        files, _, _ = seed.fill(folder, f"sqlite:///{folder}/slow.sqlite", 1)
        if given.rounds:
            throughput(names, folder, ini, files, given.rounds)
        for each in names:
            with STANDS[each](folder, ini) as (port, pids):
                time.sleep(2)
                print(f"\n{each}")
                if given.seconds:
                    slow(port, pids, files, given.seconds)
                if given.much:
                    too_much(port, pids, given.much)


@contextmanager
def wsgi(_folder, ini):
    """authsite on Granian's WSGI interface."""
    port = machine.free_port()
    settings = {"AUTHSITE_CONFIG": str(ini), "MALLOC_ARENA_MAX": "2", **NO_ENV_FILE}
    command = ("-m", "bench.serve", "authsite", port, WORKERS)
    with machine.process(*command, port=port, **settings) as (pid, _):
        yield port, [pid]


@contextmanager
def serve(_folder, ini):
    """``authsite serve``."""
    port = machine.free_port()
    with machine.process(
        "-m",
        "authsite",
        "serve",
        "--config",
        ini,
        "--port",
        port,
        "--workers",
        WORKERS,
        port=port,
        **NO_ENV_FILE,
    ) as (pid, _):
        yield port, [pid]


@contextmanager
def nginx(folder, ini):
    """nginx before authsite on Granian's WSGI interface."""
    port = machine.free_port()
    with wsgi(folder, ini) as (backend, pids):
        config = folder / "nginx.conf"
        user = "" if os.getuid() else "user root;"  # its folders are ours
        config.write_text(NGINX.format(user=user, folder=folder, backend=backend, port=port))
        running = subprocess.Popen(["/usr/sbin/nginx", "-e", f"{folder}/nginx.log", "-c", config])
        try:
            time.sleep(1)
            yield port, [*pids, running.pid]
        finally:
            running.terminate()
            running.wait()


STANDS = {"wsgi": wsgi, "serve": serve, "nginx": nginx}


def throughput(names, folder, ini, files, rounds):
    """Answers per second and the processor time of one, without slow clients."""
    jobs = {
        "guarded GET": {"path": "/v1/user", "tokens": files["access"]},
        "client credentials": {
            "method": "POST",
            "path": "/v1/oauth/token",
            "bodies": files["credentials"],
        },
    }
    seen = {}
    with ExitStack() as stack:
        stands = {name: stack.enter_context(STANDS[name](folder, ini)) for name in names}
        time.sleep(2)
        for _ in range(rounds):
            for job, what in jobs.items():
                for name, (port, pids) in stands.items():
                    before = machine.busy(pids)
                    one = load.run(port, seconds=4, **what)
                    each = (machine.busy(pids) - before) / (one.rate * 4)
                    seen.setdefault((job, name), []).append((one, each * 1e6))
        memory = {name: machine.resident(pids) for name, (_, pids) in stands.items()}
    print("| what | where | per second | spread | p99 ms | µs of processor time | wrong |")
    print("|---|---|---|---|---|---|---|")
    for (job, name), runs in seen.items():
        middle, spread = load.median([one for one, _ in runs])
        micros = statistics.median(each for _, each in runs)
        wrong = sum(one.refused + one.broken for one, _ in runs)
        print(
            f"| {job} | {name} | {middle.rate:,.0f} | {spread} | {middle.p99:.1f} "
            f"| {micros:.0f} | {wrong} |"
        )
    print(
        "\nMB resident, all processes: "
        + ", ".join(f"{name} {size:.0f}" for name, size in memory.items())
    )


def slow(port, pids, files, seconds):
    """R14: half heads and slow bodies, while other clients send normal requests."""
    tokens = files["access"].read_text().split()
    body = files["credentials"].read_text().strip()
    request = "GET /v1/user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n"
    requests = [request.format(token).encode() for token in tokens]
    logs_in = (
        f"POST /v1/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    guarded, issued = [], []
    heads, bodies = trickle.Drops(), trickle.Drops()

    async def run():
        attack = [
            *(
                trickle.hold_open(port, trickle.HALF_HEAD, seconds, heads)
                for _ in range(HALF_HEADS)
            ),
            *(
                trickle.hold_open(port, trickle.SLOW_BODY, seconds, bodies)
                for _ in range(SLOW_BODIES)
            ),
        ]
        await asyncio.gather(
            *attack,
            trickle.paced(port, requests, GUARDED, seconds, guarded),
            trickle.paced(port, [logs_in], TOKENS, seconds, issued),
            _watched(pids, seconds, weights),
        )

    weights = [machine.resident(pids)]
    asyncio.run(run())
    print(f"  R14, {seconds} s: guarded {_times(guarded)}; tokens {_times(issued)}")
    for name, drops in (("half heads", heads), ("slow bodies", bodies)):
        seconds_open = drops.open_times
        times = "all the time"
        if seconds_open:
            times = f"{min(seconds_open):.1f} to {max(seconds_open):.1f} s"
        counts = f"{len(seconds_open)} dropped, open {times}; {drops.unopened} not let in"
        print(f"    {name}: {counts}")
    print(f"    memory {weights[0]:.0f} MB, at most {max(weights):.0f}")


def too_much(port, pids, seconds):
    """R15: bodies that are too long, too many or too deep, twenty a second of them all."""

    def head(framing, kind=FORM):
        return (
            f"POST /v1/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
            f"{framing}\r\n\r\n"
        ).encode()

    def whole(body, path_kind=FORM):
        return head(f"Content-Length: {len(body)}", path_kind), [body]

    chunk = b"%x\r\n%s\r\n" % (len(MEGABYTES), MEGABYTES)
    register = b"POST /v1/register"
    kinds = {
        "10 MB": (head(f"Content-Length: {160 * len(MEGABYTES)}"), [MEGABYTES] * 160),
        "10 MB, chunked": (head("Transfer-Encoding: chunked"), [chunk] * 160),
        "10,000 fields": whole(b"&".join([b"a"] * 10_000)),
        "100,000 deep": whole(b"[" * 100_000, "application/json"),
        "60,000 deep": whole(b"[" * 60_000, "application/json"),
    }
    for name in ("100,000 deep", "60,000 deep"):  # where JSON is read
        start, parts = kinds[name]
        kinds[name] = start.replace(b"POST /v1/oauth/token", register), parts
    seen = {name: [] for name in kinds}

    async def run():
        began, tasks = time.monotonic(), []
        for number in range(20 * seconds):
            name = list(kinds)[number % len(kinds)]
            await asyncio.sleep(max(0, began + number / 20 - time.monotonic()))
            tasks.append(asyncio.create_task(trickle.upload(port, *kinds[name], seen[name])))
        await asyncio.gather(*tasks)

    async def watched():
        await asyncio.gather(run(), _watched(pids, seconds, weights))

    weights = [machine.resident(pids)]
    asyncio.run(watched())
    print(
        f"  R15, {seconds} s: memory {weights[0]:.0f} MB, at most {max(weights):.0f}, "
        f"then {weights[-1]:.0f}"
    )
    for name, responses in seen.items():
        print(f"    {name}: {_times(responses)}")


async def _watched(pids, seconds, weights):
    for _ in range(seconds):
        await asyncio.sleep(1)
        weights.append(machine.resident(pids))


def _times(responses):
    """How many responses of which status (0: none), and their milliseconds."""
    statuses = {}
    for status, _ in responses:
        statuses[status] = statuses.get(status, 0) + 1
    times = sorted(seconds * 1000 for _, seconds in responses)
    return (
        f"{dict(sorted(statuses.items()))}, p50 {times[len(times) // 2]:.1f}, "
        f"p99 {times[len(times) * 99 // 100]:.1f}, max {times[-1]:.1f} ms"
    )


if __name__ == "__main__":
    main()
