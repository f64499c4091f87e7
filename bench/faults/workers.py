"""R1 and R3: a worker is killed again and again, and the service is told to end."""

import os
import signal
import time
from pathlib import Path

from . import invariants
from .rig import WORKERS, rig
from .rows import Row, limit, none
from .traffic import good, invalid

PAUSE = 2  # seconds between two kills


def killed(short):
    """R1: SIGKILL to one of the two workers every two seconds; the server starts another one.

    The next one is killed when both serve again: a start takes longer on a busy machine.
    """
    with rig() as made:
        with made.traffic() as traffic:
            begin, kills, endings = time.monotonic(), 0, []
            end = begin + (12 if short else 60)
            while time.monotonic() < end:
                time.sleep(PAUSE)
                while made.log().count("Started worker-") < WORKERS + kills:
                    time.sleep(0.05)
                # The older one: Granian ends if a worker dies again within 5.5 s of its start.
                endings.append(kill(made.workers()[0], traffic))
                kills += 1
            time.sleep(15)
        under_way = sum(
            any(a.at <= gone and a.end >= killed for killed, gone in endings)
            for a in traffic.answers
        )
        done = f"{kills} times SIGKILL to one of two workers, in {end - begin:.0f} s"
        failed = [a for a in traffic.answers if not good(a)]
        sent = [a for a in failed if a.error == "broken"]
        refused = [a for a in failed if a.error == "refused"]
        figure = f"{len(sent)} broken off, {len(refused)} connections refused"
        lost = [session for session in traffic.sessions if session.lost or session.rejected]
        regained = sum(session.regained for session in traffic.sessions)
        return [
            Row("R1", done, f"failures ≤ {under_way} requests under way while a worker ended",
                f"{figure} of {len(traffic.answers)}",
                not refused and len(sent) <= under_way),
            none("R1", done, "responses other than 2xx", [a for a in failed if a.status]),
            none("R1", done, "valid tokens called invalid", len(invalid(traffic.answers))),
            Row("R1", done, "who lost the response to a refresh gets in with the same token",
                f"{regained} did, {len(lost)} did not", not lost),
            invariants.check("R1", made, traffic),
        ]  # fmt: skip


def kill(worker, traffic):
    """Kill a process; returns when it was killed and when it had ended, in ``traffic``'s time."""
    killed = traffic.now()
    os.kill(worker, signal.SIGKILL)
    # Until its last thread has ended, its sockets are open, and no thread reads from them.
    while is_alive(Path(f"/proc/{worker}")):
        time.sleep(0.0005)
    return killed, traffic.now()


def is_alive(process):
    """Whether a thread of ``process`` (a folder of /proc) has not ended."""
    try:
        return len(list((process / "task").iterdir())) > 1 or (
            " Z " not in (process / "stat").read_text()
        )
    except FileNotFoundError:
        return False


def ended(short):
    """R3: SIGTERM under load. Requests that were sent before are completed."""
    with rig() as made:
        with made.traffic() as traffic:
            time.sleep(3 if short else 10)
            begin = traffic.now()
            made.server.process.send_signal(signal.SIGTERM)
            made.server.process.wait(30)
            end = traffic.now()
        done = "SIGTERM to the service"
        failed = [a for a in traffic.answers if not good(a) and a.error != "refused"]
        kinds = ", ".join(f"{a.kind} {a.status or 'broken off'}" for a in failed)
        figure = f"{len(failed)} of {len(traffic.answers)}{kinds and f' ({kinds})'}"
        return [
            limit("R3", done, "ends within", 10, end - begin, "s"),
            Row("R3", done, "0 requests that were sent are not answered", figure, not failed),
        ]
