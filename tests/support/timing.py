"""How much processor time a call takes, as steadily as a busy machine allows."""

import io
import sys
import time

from webob import Request


def processor_clock(pid):
    """A function with the processor time of another process, in seconds, as its scheduler counts.

    The times that ``ps`` shows are those of a sample every 10 ms, so that a process that works for
    a millisecond at a time is often overlooked (``clock_getcpuclockid``, POSIX; Linux' number).
    """
    return lambda: time.clock_gettime((~pid << 3) | 2)


def processor_seconds(call, runs=5, enough=0.0, clock=time.process_time):
    """The processor time of one call, the best of ``runs``, or the first that is ``enough``.

    ``clock`` gives the time of the process that is measured: this one, or `processor_clock`.

    The measuring of coverage, which costs each line several times its own time, rests during the
    block.
    """
    best = float("inf")
    tracing = sys.gettrace()
    sys.settrace(None)
    try:
        for _ in range(runs):
            began = clock()
            call()
            best = min(best, clock() - began)
            if best <= enough:
                break
    finally:
        sys.settrace(tracing)
    return best


def within(call, seconds, runs=5, rounds=6):
    """The processor time of one call; what is over ``seconds`` is measured again and again.

    That is ``runs`` times, and once more in each of the ``rounds``. A call that is within
    ``seconds`` may be faster than the result says.

    Only a machine that is busy with other things gets better by that.
    """
    best = processor_seconds(call, runs, seconds)
    for _ in range(rounds):
        if best <= seconds:
            break
        best = min(best, processor_seconds(call, runs, seconds))
    return best


def more_than(call, plain, most, rounds=6, **measured):
    """How much more processor time ``call`` takes than ``plain``; ends at the first ``most``.

    The two take turns, since a busy machine makes both of them slower. ``measured`` are further
    arguments of `processor_seconds`.
    """
    best = float("inf")
    for _ in range(rounds):
        base = processor_seconds(plain, **measured)
        best = min(best, processor_seconds(call, enough=base + most, **measured) - base)
        if best <= most:
            break
    return best


def best_of_five(seconds):
    """Iterate until one turn of the loop took at most ``seconds``, at most five times.

    Wall-clock time, for calls that wait: only a busy machine makes one of them take longer.
    """
    best = float("inf")
    for _ in range(5):
        began = time.monotonic()
        yield
        best = min(best, time.monotonic() - began)
        if best <= seconds:
            return
    raise AssertionError(f"{best:.1f} seconds instead of {seconds}")


def eventually(question, seconds=30):
    """Whether ``question()`` is answered with yes within ``seconds``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if question():
            return True
        time.sleep(0.05)
    return False


def asking(app, method, path, body=b"", **environ):
    """A function that sends a request of this kind to ``app``, with no test library in between."""
    given = Request.blank(path, method=method, environ={"REMOTE_ADDR": "192.0.2.1"}).environ
    given |= {"CONTENT_LENGTH": str(len(body)), **environ}

    def ask():
        status = []
        content = app(
            {**given, "wsgi.input": io.BytesIO(body)}, lambda line, _headers: status.append(line)
        )
        assert b"".join(content) or status[0][:1] in "23"
        return int(status[0][:3])

    return ask
