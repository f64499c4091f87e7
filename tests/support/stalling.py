"""A PostgreSQL that stops in the middle of an answer: a relay before the real one."""

import socket
import threading
from contextlib import contextmanager, suppress

READY = b"Z\x00\x00\x00\x05"  # ReadyForQuery, PostgreSQL manual, 54.7


@contextmanager
def stalling(url, folder):
    """A URL that leads to the same database, and an event: while set, no answer is completed."""
    stall = threading.Event()
    port = url.port or 5432
    server = f"{url.query['host']}/.s.PGSQL.{port}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/.s.PGSQL.{port}")
    listener.listen()

    def accept():
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                backend = socket.socket(socket.AF_UNIX)
                backend.connect(server)
                for source, target, cut in ((client, backend, False), (backend, client, True)):
                    threading.Thread(target=relay, args=(source, target, cut), daemon=True).start()

    def relay(source, target, cut):
        with suppress(OSError):
            while data := source.recv(65536):
                if cut and stall.is_set() and READY in data:
                    data = data[: data.rindex(READY)]
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield url.set(query={**url.query, "host": str(folder)}), stall
    finally:
        listener.close()
