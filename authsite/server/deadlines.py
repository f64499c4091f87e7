"""A time limit for something that many tasks of an event loop do."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class Deadlines:
    """Ends what takes a task more than ``seconds``.

    One timer of the event loop serves all tasks. `asyncio.timeout` starts a timer for each, which
    takes more processor time than to read a small body.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Task[Any], float] = {}  # the earliest first
        self._timer_runs = False

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``work``, which runs in the task of the caller.

        Raises `TimeoutError` after the time.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline belongs to a task of an event loop")
        self._ends[task] = asyncio.get_running_loop().time() + self._seconds
        if not self._timer_runs:
            self._timer_runs = True
            self._cancel_late()
        try:
            return await work
        except asyncio.CancelledError:
            # The server may have cancelled the task, too; that cancellation must be raised again.
            if task in self._ends or task.uncancel() > 0:
                raise
            raise TimeoutError from None
        finally:
            self._ends.pop(task, None)

    def _cancel_late(self) -> None:
        """Cancel the tasks whose time is over; again when that of the next one is."""
        loop = asyncio.get_running_loop()
        while self._ends:
            task, end = next(iter(self._ends.items()))
            if end > loop.time():
                loop.call_at(end, self._cancel_late)
                return
            del self._ends[task]
            task.cancel()
        self._timer_runs = False
