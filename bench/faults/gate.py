"""A TCP connection that can be cut, as a network between two machines."""

import asyncio
import threading
from contextlib import suppress


class Gate:
    """Passes on what comes to ``port`` of 127.0.0.1 to ``target``, and back, in its own thread.

    While it is closed, connections stay open and nothing passes: neither end gets an error.
    """

    def __init__(self, port, target):
        self.port, self._target = port, target
        self._ready = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def close(self):
        """Let nothing pass."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def open(self):
        """Let everything pass, also what has come in between."""
        self._loop.call_soon_threadsafe(self._open.set)

    async def _serve(self):
        self._loop, self._end, self._open = (
            asyncio.get_running_loop(),
            asyncio.Event(),
            asyncio.Event(),
        )
        self._open.set()
        server = await asyncio.start_server(self._connect, "127.0.0.1", self.port)
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _connect(self, reader, writer):
        await self._open.wait()
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer))

    async def _pass(self, reader, writer):
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
