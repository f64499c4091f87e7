"""``authsite client …`` and ``authsite token …``."""

from .clients import client
from .tokens import token

__all__ = ["client", "token"]
