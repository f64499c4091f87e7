"""Mail: an outbox in the database, letters made when they are sent, and the sender.

A request only writes a row, in its own transaction. Everything slow or unreliable, from the
template to the mail server, happens afterwards in a sender that may be any process.
"""

from pyramid.events import ApplicationCreated
from pyramid.exceptions import ConfigurationError


def add_letter(config, name, make):
    """Directive: ``make(desk)`` returns the `Letter` called ``name`` in the outbox, or None."""
    letters = config.registry["authsite.letters"]
    if name in letters:
        raise ConfigurationError(f"there are two letters called {name!r}; rename one")
    letters[name] = make


def includeme(config):
    """``config.add_letter``, and with ``mail-sender = thread`` the sender."""
    config.registry["authsite.letters"] = {}
    config.add_directive("add_letter", add_letter)
    if config.registry["authsite.settings"].mail_sender == "thread":
        config.add_subscriber(_start_sender, ApplicationCreated)


def _start_sender(event):
    from .thread import start  # the letters' machinery is not loaded by those who send none

    start(event.app.registry)
