"""A time limit for what many tasks do, with one timer for all of them."""

import asyncio

import pytest

from authsite.server.asgi import Deadlines

SOON, NEVER = 0.05, 3600.0


async def done(value):
    await asyncio.sleep(0)
    return value


def test_what_is_done_in_time_has_its_result():
    async def main():
        deadlines = Deadlines(NEVER)
        return await asyncio.gather(*(deadlines.run(done(number)) for number in range(3)))

    assert asyncio.run(main()) == [0, 1, 2]


def test_each_task_that_is_late_is_told_so_and_may_go_on():
    async def late(deadlines):
        with pytest.raises(TimeoutError):
            await deadlines.run(asyncio.Event().wait())
        return await done("went on")

    async def main():
        deadlines = Deadlines(SOON)
        async with asyncio.timeout(20):
            first = await asyncio.gather(*(late(deadlines) for _ in range(3)))
            return first, await late(deadlines)  # after the timer had nothing to do

    assert asyncio.run(main()) == (["went on"] * 3, "went on")


def test_one_that_began_later_ends_later():
    async def late(deadlines, after):
        await asyncio.sleep(after)
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(TimeoutError):
            await deadlines.run(asyncio.Event().wait())
        return loop.time() - began

    async def main():
        deadlines = Deadlines(SOON)
        async with asyncio.timeout(20):
            return await asyncio.gather(*(late(deadlines, after) for after in (0, SOON / 2)))

    assert min(asyncio.run(main())) >= SOON


def test_a_task_that_somebody_cancels_is_cancelled_and_not_late():
    async def main():
        task = asyncio.ensure_future(Deadlines(NEVER).run(asyncio.Event().wait()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_an_error_of_the_work_is_its_own():
    async def fails():
        raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        asyncio.run(Deadlines(NEVER).run(fails()))
