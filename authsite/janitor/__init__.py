"""The janitor: what every room may delete, and a thread that has it deleted every hour."""

from pyramid.events import ApplicationCreated


def includeme(config):
    """With ``janitor = on`` the thread."""
    if config.registry["authsite.settings"].janitor:
        config.add_subscriber(_start, ApplicationCreated)


def _start(event):
    from .thread import start

    start(event.app.registry)
