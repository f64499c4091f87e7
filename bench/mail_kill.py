"""``python -m bench.mail_kill``: reliability R9 and R10 of the mail sender, with real processes.

R10: two senders are killed with SIGKILL at random moments while mails are enqueued. R9: a mail
server fails for a while in each of four ways, and recovers. Leases and delays have their real
length. Exits with status 1 if a mail was lost, sent too often or too late.
"""

import argparse
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support import databases
from tests.support.senders import copies, new_outbox, seeded, senders
from tests.support.servers import free_port
from tests.support.smtp import mail_server

LEASE = 60  # seconds
FAULTS = ("away", "hang", "drop", "4xx")


def main():
    """Both runs, and what they must show."""
    options = argparse.ArgumentParser(prog="python -m bench.mail_kill", description=__doc__)
    options.add_argument("--mails", type=int, default=500)
    options.add_argument("--minutes", type=float, default=5, help="of killing (R10)")
    options.add_argument("--outage", type=float, default=10, help="minutes of each fault (R9)")
    options.add_argument("--backend", choices=databases.BACKENDS, default="postgresql")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="authsite-mail-") as name,
        ThreadPoolExecutor(len(FAULTS) + 1) as pool,
    ):
        # One after the other: Alembic cannot migrate in two threads at once.
        boxes = [_outbox(Path(name), given, run) for run in ("killed", *FAULTS)]
        runs = [pool.submit(killed, boxes[0], given)]
        runs += [pool.submit(fails, *each, given) for each in zip(FAULTS, boxes[1:], strict=True)]
        results = [run.result() for run in runs]
    for words, good in results:
        print(f"{'ok   ' if good else 'WRONG'} {words}")
    sys.exit(not all(good for _, good in results))


def killed(box, given):
    """R10: what arrived although two senders were killed all the time."""
    with mail_server(box.port) as server:
        server.pause = 0.02  # a gap between the mail and its mark, for kills to fall into
        end = time.monotonic() + given.minutes * 60
        writer = threading.Thread(target=_trickle, args=(box, given.mails, given.minutes * 60))
        with senders(box.ini) as running:
            writer.start()
            running.kill_at_random(seeded(given.seed), lambda: time.monotonic() > end, pause=6)
            writer.join()
            rest = box.wait(3 * LEASE)
        taken = copies(server)
        again = sum(count - 1 for count, _ in taken.values())
    good = (
        box.states() == {"sent": given.mails}
        and len(taken) == given.mails
        and again <= running.kills
        and all(ids == 1 for _, ids in taken.values())
        and rest <= 2 * LEASE
    )
    return (
        f"R10 {given.backend}, {given.minutes:g} min: {running.kills} kills of 2 senders, "
        f"{len(taken)} of {given.mails} mails arrived, {again} of them twice (same Message-ID), "
        f"the last {rest:.0f} s after the last kill",
        good,
    )


def fails(fault, box, given):
    """R9: what arrived, and when, after the server had failed for a while."""
    addresses = box.fill(20)
    with senders(box.ini):
        if fault == "away":
            time.sleep(given.outage * 60)
        else:
            with mail_server(box.port) as server:
                server.mode = fault
                time.sleep(given.outage * 60)
        with mail_server(box.port) as server:
            seconds = box.wait(5 * LEASE)
            taken = copies(server)
    good = taken == dict.fromkeys(addresses, (1, 1)) and seconds <= 60
    return (
        f"R9 {given.backend}, {fault} for {given.outage:g} min: {len(taken)} of 20 mails arrived, "
        f"{sum(count - 1 for count, _ in taken.values())} twice, "
        f"the last {seconds:.0f} s after the server's return",
        good,
    )


def _outbox(folder, given, name):
    own = folder / name
    own.mkdir()
    return new_outbox(own, databases.new_url(given.backend, own, f"bench_{name}"), free_port())


def _trickle(box, count, seconds):
    """Put ``count`` mails in, in bursts of ten over nine tenths of the time."""
    for number in range(0, count, 10):
        box.fill(min(10, count - number), first=number)
        time.sleep(seconds * 9 / count)


if __name__ == "__main__":
    main()
