"""Runs commands in processes that are forked from one template process.

An interpreter takes about a second of processor time to load what a command needs. The template
process loads it once; each command is a fork of it, with an environment, a folder and streams of
its own.
"""

import gc
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

import authsite

CHECKOUT = Path(authsite.__file__).parent.parent
TIMEOUT = 120  # seconds
# The modules outside of authsite that commands load when they need them.
LOADED_LATE = (
    "alembic.command",
    "alembic.runtime.migration",
    "psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.pysqlite",
)


def run(arguments, *, stdin=None, cwd=None, env):
    """Run ``python -m authsite ARGUMENTS``; a `subprocess.CompletedProcess` with text output."""
    arguments = [str(each) for each in arguments]
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write((stdin or "").encode())
        streams[0].seek(0)
        ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
        order = {"arguments": arguments, "cwd": str(cwd or Path.cwd()), "env": env}
        with _sending:
            descriptors = [each.fileno() for each in (theirs, *streams)]
            socket.send_fds(_template.orders, [json.dumps(order).encode()], descriptors)
        theirs.close()
        status = _status(ours, arguments)
        output = [_text(each) for each in streams[1:]]
    return subprocess.CompletedProcess(arguments, status, *output)


def _status(connection, arguments):
    """The exit status that the process reports after its id; the process is killed when late."""
    connection.settimeout(TIMEOUT)
    answers = connection.makefile("r")
    pid = int(answers.readline())
    try:
        return int(answers.readline())
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(arguments, TIMEOUT) from None


def _text(file):
    file.seek(0)
    return file.read().decode()


class _Template:
    """The template process, started by its first order; it ends when ``orders`` is closed."""

    @cached_property
    def orders(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.support.commands"]
        self.process = subprocess.Popen(command, stdin=theirs, cwd=CHECKOUT)
        theirs.close()
        return ours


_template, _sending = _Template(), threading.Lock()


def end_template():
    """End the template process, so that what coverage measured in it is written."""
    if "orders" in vars(_template):
        _template.orders.close()
        del _template.orders
        _template.process.wait(TIMEOUT)


def _next_order():
    """Fork for each order; returns the order, and its descriptors, in the child only."""
    orders = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave nothing behind
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, 1 << 20, 4)
        if not order:
            sys.exit()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.close()
            return json.loads(order), descriptors
        for each in descriptors:
            os.close(each)


def _become(order, report, *streams):
    """Fork once more; the parent reports the child's id and exit status, the child returns."""
    connection = socket.socket(fileno=report)
    child = os.fork()
    if child:
        connection.sendall(f"{child}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(f"{status}\n".encode())
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv[1:] = order["arguments"]


def main():
    """The template process, and in its forks the command."""
    for module in pkgutil.walk_packages(authsite.__path__, "authsite."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LOADED_LATE:
        import_module(name)
    gc.freeze()  # a collection in a fork would copy every page
    order, descriptors = _next_order()
    _become(order, *descriptors)
    runpy.run_module("authsite", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
