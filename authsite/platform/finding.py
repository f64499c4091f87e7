"""What a check of the installation, or of a client, has found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the report of ``authsite doctor``, which the console shows, too.

    ``state``: ``ok``; ``note``: what an operator has to know; ``change`` before production;
    ``wrong``: an error that has an effect.
    """

    state: str
    subject: str
    message: str
