"""``authsite client …``, ``authsite resource …`` and ``authsite token …``."""

from .clients import client
from .resources import resource
from .tokens import token

__all__ = ["client", "resource", "token"]
