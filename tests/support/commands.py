"""Runs commands in processes that are forked from one template process.

An interpreter takes about a second of processor time to load what a command needs. The template
process loads it once; each command is a fork of it, with its own environment, folder and
streams.
"""

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile

import authsite
from authsite.platform.http.rendering import page_templates
from authsite.platform.settings import TEMPLATES
from tests.support import quick_bcrypt, quick_start

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
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write((stdin or "").encode())
        streams[0].seek(0)
        process = start(arguments, *streams, cwd=cwd, env=env)
        try:
            status = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        output = [_text(each) for each in streams[1:]]
    return subprocess.CompletedProcess(arguments, status, *output)


def start(arguments, stdin, stdout, stderr, *, cwd=None, env):
    """Start ``python -m authsite ARGUMENTS`` with three open files; a `Process`."""
    order = {
        "arguments": [str(each) for each in arguments],
        "cwd": str(cwd or Path.cwd()),
        "env": env,
        "quick_bcrypt": quick_bcrypt.in_use,
    }
    # Messages instead of a stream: the id and the exit status do not run together.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with _sending, theirs:
        descriptors = [each.fileno() for each in (theirs, stdin, stdout, stderr)]
        socket.send_fds(_template.orders, [json.dumps(order).encode()], descriptors)
    return Process(ours, arguments)


class Process:
    """What tests use of `subprocess.Popen`, for a process that the template has forked."""

    def __init__(self, connection, arguments):
        self._connection = connection
        self.args, self.returncode = arguments, None
        self.pid = int(connection.recv(16))

    def poll(self):
        """The exit status; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """The exit status. Raises `subprocess.TimeoutExpired` after ``timeout`` seconds."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = int(self._connection.recv(16))
            self._connection.close()
        return self.returncode

    def send_signal(self, number):
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


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
    """Fork for each order, and report how each child ends.

    Returns the order, and its descriptors, in the child only.
    """
    orders = socket.socket(fileno=os.dup(0))
    running = {}  # by the descriptor of a child: its id, and where it is reported
    while True:
        for ready in select.select([orders, *running], [], [])[0]:
            if ready is not orders:
                child, report = running.pop(ready)
                _tell(report, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                report.close()
                os.close(ready)
                continue
            order, descriptors, _, _ = socket.recv_fds(orders, 1 << 20, 4)
            if not order:
                sys.exit()
            report, streams = socket.socket(fileno=descriptors[0]), descriptors[1:]
            child = os.fork()
            if child == 0:
                for each in (orders, report, *(other for _, other in running.values())):
                    each.close()
                for each in running:
                    os.close(each)
                return json.loads(order), streams
            _tell(report, child)
            running[os.pidfd_open(child)] = child, report
            for each in streams:
                os.close(each)


def _tell(report, number):
    """Send a number to a test, unless it waits no longer."""
    with suppress(OSError):
        report.send(str(number).encode())


def _become(order, streams):
    """Have the streams, the environment and the arguments of the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    sys.argv[1:] = order["arguments"]
    quick_bcrypt.use(order["quick_bcrypt"])  # as in the process of the tests
    if sys.argv[1] == "serve":
        _measure_no_more()


def _coverage():
    """What measures this process, or None."""
    module = sys.modules.get("coverage")
    return module.Coverage.current() if module else None


def _measure_no_more():
    """Servers run unmeasured: coverage would slow them to a third, and all they serve is covered
    in process. Commands are measured (pyproject.toml)."""
    if coverage := _coverage():
        coverage.stop()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # coverage has set a handler


_status = []  # the exit status of the command, when it has ended by itself


def _run():
    """Run the command."""
    try:
        runpy.run_module("authsite", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _status.append(end.code or 0)
        raise
    _status.append(0)


def _end_at_once():
    """End the process after the functions of `atexit` that the command has registered.

    The interpreter would go through all that the template has loaded, of which the kernel then
    copies each page. This took more time than most commands.
    """
    if _status and not _coverage():  # coverage writes its results in such a function
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_status[0])


def _compile_pages():
    """The templates of all pages, of which a server would compile those that are asked for."""
    environment = page_templates(None, reload=False)
    for path in TEMPLATES.rglob("*.jinja2"):
        environment.get_template(f"authsite:templates/{path.relative_to(TEMPLATES)}")


def main():
    """The template process, and in its forks the command."""
    atexit.register(_end_at_once)  # what is registered later is called before
    for module in pkgutil.walk_packages(authsite.__path__, "authsite."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LOADED_LATE:
        import_module(name)
    _compile_pages()
    quick_start.use()
    gc.freeze()  # a collection in a fork would copy every page
    order, streams = _next_order()
    _become(order, streams)
    _run()


if __name__ == "__main__":
    main()
