"""A socket with one deadline for a whole exchange.

The timeout of `socket.settimeout` begins again with each byte that arrives, so that a server that
sends a byte now and then would hold a thread for hours.
"""

import io
import socket
import ssl
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class TimedSocket:
    """What `http.client` uses of a socket, with a deadline."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._deadline = 0.0
        self.has_surplus = False

    def settimeout(self, seconds: float) -> None:
        """Everything from here on ends within ``seconds``, or raises TimeoutError."""
        self._deadline = monotonic() + seconds

    def sendall(self, data: "ReadableBuffer") -> None:
        self.apply_deadline()
        self._socket.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """A file for reading; the connection stays open until file and socket are closed."""
        return _File(_Reader(self, self._socket.makefile("rb", buffering=0)))

    def is_idle(self) -> bool:
        """Whether the connection is open, and has nothing to read.

        To be asked between two exchanges: what can be read is lost. Unlike `select`, reading sees
        what TLS has decrypted already, and skips its session tickets.
        """
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return not self.has_surplus
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._socket.close()

    def apply_deadline(self) -> None:
        """Raises TimeoutError at the deadline; before it, the next call ends by then."""
        remaining = self._deadline - monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(remaining)


class _Reader(io.RawIOBase):
    def __init__(self, timed: TimedSocket, file: io.RawIOBase) -> None:
        self.timed = timed
        self.ended = False
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        if self.ended:
            return 0
        self.timed.apply_deadline()
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _File(io.BufferedReader):
    """Notices what was read beyond the end of a response, which the buffer would hide."""

    def __init__(self, reader: _Reader) -> None:
        super().__init__(reader)
        self._reader = reader

    def close(self) -> None:
        if not self.closed:
            self._reader.ended = True
            self._reader.timed.has_surplus |= bool(self.peek())
        super().close()
