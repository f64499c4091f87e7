"""A machine of an operator: a folder, an environment, the installed commands, a server."""

import json
import subprocess
import time
from contextlib import contextmanager

from tests.support.installed import clean_environ
from tests.support.servers import START_SECONDS, free_port, stop, wait_for_port


class Machine:
    """``run`` commands of the wheel in ``folder``; ``serving`` starts the service there."""

    def __init__(self, folder, installed, **variables):
        folder.mkdir(mode=0o700)
        self.folder, self.bin = folder, installed.bin
        self.environ = clean_environ(**variables)
        self.log = folder / "serve.log"
        self.port = free_port()

    def run(self, *arguments, stdin=None, status=0):
        """The finished command; fails unless it ended with ``status``."""
        done = subprocess.run(
            [self.bin / arguments[0], *arguments[1:]], input=stdin, capture_output=True, text=True,
            timeout=120, cwd=self.folder, env=self.environ,
        )  # fmt: skip
        assert done.returncode == status, f"{arguments}\n{done.stdout}{done.stderr}"
        return done

    def json(self, *arguments, **more):
        """The one object that a command prints with ``--json``."""
        return json.loads(self.run(*arguments, "--json", **more).stdout)

    def variables(self):
        """The lines of the environment file that `authsite init` wrote."""
        lines = (self.folder / "authsite.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    @contextmanager
    def running(self, *command, ready=None):
        """``command`` as a process until the end of the block; it listens at ``port``.

        ``ready`` is a text that its log has once it answers.
        """
        with open(self.log, "ab") as output:
            process = subprocess.Popen(
                [self.bin / command[0], *command[1:]], stdout=output, stderr=output,
                cwd=self.folder, env=self.environ,
            )  # fmt: skip
        try:
            try:
                wait_for_port(self.port, process)
                self._wait_for_log(ready, process)
            except RuntimeError as error:
                raise RuntimeError(f"{error}:\n{self.log.read_text(errors='replace')}") from None
            yield process
        finally:
            stop(process)

    def _wait_for_log(self, text, process):
        deadline = time.monotonic() + START_SECONDS
        while text and text not in self.log.read_text(errors="replace"):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError(f"the log never says {text!r}")
            time.sleep(0.05)
