"""``python -m bench.parts``: what each part of the work cost the guard, a login and the start.

Each revision gets a separate checkout in ``--folder``, which the next run uses again, and another
environment than this one if it requires other versions. All are measured in turns, in processor
time: what else the machine does changes this little, and the same for all. The table has the
medians of the rounds, and what each revision takes of the first one: the median of the rounds'
ratios, with the interval that contains it with 95 % (by rank).
The first revision stands in the table twice: the second time shows what no difference looks like.
"""

import argparse
import hashlib
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from math import comb
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from bench import machine
from bench.growth import database_beside

ROOT = Path(__file__).parents[2]
REQUIREMENTS = "requirements.txt"
CHILD = Path(__file__).parent / "child.py"
# The last commit of each part.
PARTS = {
    "before": "96c5177e",
    "part 12": "9eaad2dc",
    "part 13": "168820ed",
    "part 14": "86521e48",
    "part 15": "a323b3b8",
    "part 16": "2954c831",
    "part 17": "6a4d089d",
    "part 18": "dd1c20ce",
    "now": "HEAD",
}
AGAIN = "before, again"
KINDS = ("guard, bearer", "guard, session", "guard, bearer of a code", "login")
START = "start to first answer"
CHANCE = random.Random(7)  # noqa: S311  no secrets here


def main():
    """Measure all revisions and print the tables."""
    options = argparse.ArgumentParser(prog="python -m bench.parts", description=__doc__)
    options.add_argument("revisions", nargs="*", help="name=revision (default: each part)")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--starts", type=int, default=10, help="rounds of starts")
    options.add_argument("--url", help="postgresql://…; without it SQLite")
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "parts")
    given = options.parse_args()
    parts = dict(each.split("=", 1) for each in given.revisions) or PARTS
    given.folder.mkdir(exist_ok=True)
    first, *_ = parts
    parts = {**parts, AGAIN: parts[first]}
    revisions = {name: Revision(given.folder, name, parts[name]) for name in parts}
    for revision in revisions.values():
        revision.prepare()
    for revision in revisions.values():
        revision.begin(given.url)
    try:
        for revision in revisions.values():
            revision.wait()
        report(measure(revisions, given.rounds, given.starts), first)
    finally:
        for revision in revisions.values():
            revision.end()


class Revision:
    """A checkout, the environment that it requires, and its process that measures."""

    def __init__(self, folder, name, revision):
        self.id = git("rev-parse", "--short=8", revision, cwd=ROOT)
        self.name, self.checkout = name, folder / self.id
        required = git("show", f"{self.id}:{REQUIREMENTS}", cwd=ROOT)
        name = hashlib.sha256(required.encode()).hexdigest()[:8]
        self.environment = folder / f"requires-{name}"
        self.python = self.environment / "bin" / "python"
        if pins(required) <= pins((ROOT / REQUIREMENTS).read_text()):
            self.python = sys.executable
        self.child = None

    def prepare(self):
        """Make the checkout, and the environment unless another revision has the same."""
        print(f"{self.name}: {self.id}", file=sys.stderr, flush=True)
        if not self.checkout.exists():
            made = self.checkout.with_suffix(".made")
            git("clone", "--quiet", "--shared", "--no-checkout", ROOT, made, cwd=ROOT)
            git("checkout", "--quiet", "--detach", self.id, cwd=made)
            self._install(made)
            made.rename(self.checkout)
        if not Path(self.python).exists():
            made = self.environment.with_suffix(".made")
            run([sys.executable, "-m", "venv", made], self.checkout)
            install = [made / "bin" / "pip", "install", "--quiet", "-r", REQUIREMENTS]
            run(install, self.checkout)
            made.rename(self.environment)

    def _install(self, made):
        """What an editable installation would do, so that revisions can share an environment."""
        run([sys.executable, "setup.py", "--quiet", "egg_info"], made)
        (made / "authsite" / "migrations").symlink_to("../migrations")
        for source in made.glob("authsite/locale/*/LC_MESSAGES/*.po"):
            with source.open("rb") as file, source.with_suffix(".mo").open("wb") as target:
                write_mo(target, read_po(file))
        # Else each start would compile them again where the environment forbids to write them.
        run([sys.executable, "-m", "compileall", "-q", "authsite", "migrations"], made)

    def begin(self, url):
        """Start the process that measures, on a separate database."""
        self.folder = tempfile.TemporaryDirectory(prefix="authsite-parts-")
        place = f"sqlite:///{self.folder.name}/parts.sqlite"
        if url:
            place = database_beside(url, f"parts_{'_'.join(self.name.split())}".replace(",", ""))
        self.child = subprocess.Popen(
            [self.python, CHILD, self.folder.name, place],
            cwd=self.checkout,
            env={**os.environ, "PYTHONPATH": str(self.checkout)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait(self):
        """Wait until its database is filled."""
        answer = self.child.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.name} ({self.id}) did not begin.")
        self.ini = json.loads(answer)["ini"]

    def measure(self, kind):
        """Microseconds, or None."""
        self.child.stdin.write(f"{kind}\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def start(self):
        """Microseconds of processor time from the command to the first answer, all processes."""
        port = machine.free_port()
        program = [self.python, "-m", "authsite", "serve", "--config", self.ini, "--port", port]
        log = subprocess.DEVNULL
        running = subprocess.Popen(
            [*map(str, program), "--workers", "1"],
            cwd=self.checkout,
            env={**os.environ, "AUTHSITE_ENV_FILE": os.devnull, "PYTHONPATH": str(self.checkout)},
            stdout=log,
            stderr=log,
        )
        try:
            _first_answer(running, port)
            return machine.busy([running.pid]) * 1e6
        finally:
            running.terminate()
            running.wait(30)

    def end(self):
        """Stop the process."""
        if self.child:
            self.child.stdin.close()
            self.child.wait(30)
            self.folder.cleanup()


def _first_answer(running, port):
    until = time.monotonic() + 120
    while time.monotonic() < until and running.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/v1/user")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise SystemExit("A server did not start.")


def measure(revisions, rounds, starts):
    """Kind -> revision -> microseconds of each round."""
    seen = {kind: {name: [] for name in revisions} for kind in (*KINDS, START)}
    for _ in range(rounds):
        for kind in KINDS:
            for name in CHANCE.sample(list(revisions), len(revisions)):
                seen[kind][name].append(revisions[name].measure(kind))
    for _ in range(starts):
        for name in CHANCE.sample(list(revisions), len(revisions)):
            seen[START][name].append(revisions[name].start())
    return seen


def report(seen, first):
    """Print a table for each kind, as Markdown."""
    print(f"{machine.describe()}; processor time, in turns")
    for kind, times in seen.items():
        there = {name: values for name, values in times.items() if values and None not in values}
        if not there:
            continue
        base = next(iter(there)) if first not in there else first
        print(f"\n| {kind} | µs | of *{base}* | 95 % | of the one before |")
        print("|---|---|---|---|---|")
        before = base
        for name, values in there.items():
            share, low, high = ratio(values, there[base])
            step = ratio(values, there[before])[0]
            middle = f"{statistics.median(values):,.0f}"
            print(f"| {name} | {middle} | {share:.3f} | {low:.3f} to {high:.3f} | {step:.3f} |")
            before = name


def ratio(values, others):
    """The median of the rounds' ratios, and its interval of 95 % by rank."""
    ratios = sorted(value / other for value, other in zip(values, others, strict=True))
    rank = lower_rank(len(ratios))
    return statistics.median(ratios), ratios[rank], ratios[-1 - rank]


def lower_rank(count):
    """The rank from 0 of the lower end: below it the median is in fewer than 2.5 % of samples."""
    total, rank = 0.0, 0
    for number in range(count // 2):
        total += comb(count, number) / 2**count
        if total > 0.025:
            break
        rank = number
    return rank


def git(*arguments, cwd):
    """The output of a git command."""
    done = subprocess.run(["git", *arguments], cwd=cwd, check=True, stdout=subprocess.PIPE)
    return done.stdout.decode().strip()


def pins(requirements):
    """The packages with their versions, without the hashes of their files."""
    return {line.strip(" \\") for line in requirements.splitlines() if "==" in line}


def run(command, cwd):
    """A command, without its output."""
    subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
