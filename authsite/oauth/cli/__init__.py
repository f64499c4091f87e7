"""``authsite client …``, ``authsite resource …`` and ``authsite token …``."""

from . import adding, doctor
from .clients import client
from .tokens import resource, token

__all__ = ["adding", "client", "doctor", "resource", "token"]
