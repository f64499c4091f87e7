"""The order of the tests, so that several processes are busy all the time and end together."""

SPREAD = 2 / 3  # of the quick files: a slow one that begins last would be waited for


def in_turns(items):
    """Slow files, each followed by some of the quick ones.

    What is slow waits for servers and browsers half of the time, and what is quick uses a processor
    all the time. The tests of a file stay together.
    """
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    slow, quick = [], []
    for tests in files.values():
        is_slow = any(each.get_closest_marker("slow") for each in tests)
        (slow if is_slow else quick).append(tests)
    every = len(quick) * SPREAD / max(len(slow), 1)
    places = [(index * every, tests) for index, tests in enumerate(slow)]
    places += enumerate(quick)
    places.sort(key=lambda each: each[0])  # a slow file before the quick one of its place
    return [test for _, tests in places for test in tests]
