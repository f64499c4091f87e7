"""``python -m tests.support.nursery INI``: a sender process for each line that comes in.

Each is forked from a process that has everything loaded, so that it works at once and can be
killed at work; its process id is printed. It does what ``authsite mail send --loop`` does.
"""

import os
import signal
import sys
from threading import Event

from authsite import compose
from authsite.platform.logs import configure
from authsite.platform.mail.sender import open_sender, run
from authsite.platform.settings import read_ini


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave no trace
    configure(as_json=True)
    registry = compose(read_ini(sys.argv[1])).registry
    for _line in sys.stdin:
        child = os.fork()
        if child == 0:
            send(registry)
        print(child, flush=True)


def send(registry):
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    run(open_sender(registry["authsite"]), stop)
    os._exit(0)


if __name__ == "__main__":
    main()
