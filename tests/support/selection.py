"""Which tests of both databases the usual run leaves out (CONTRIBUTING.md, "Databases")."""


def backend_of(item, default=None):
    """The database that the test runs on."""
    return item.callspec.params.get("backend", default) if hasattr(item, "callspec") else default


def repeated_on_postgresql(items):
    """The tests with a further value, of those that are on PostgreSQL with their file or folder.

    They remain on SQLite; a whole run has all on both (CONTRIBUTING.md, "Databases").
    """
    seen, found = set(), set()
    for item in items:
        if backend_of(item) != "postgresql" or has_each_value(item):
            continue
        test = (item.path, item.cls, item.originalname)
        if test in seen:
            found.add(item)
        seen.add(test)
    return found


def has_each_value(item):
    """Whether each value of the test is tried on both databases also in the usual run."""
    return (
        any(mark.name == "both_databases" for mark in item.own_markers)
        or any(mark.kwargs.get("each_value") for mark in item.iter_markers("both_databases"))
        or any("backend" in mark.args[0] for mark in item.iter_markers("parametrize"))
    )
