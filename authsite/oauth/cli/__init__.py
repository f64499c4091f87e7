"""``authsite client …``, ``authsite resource …`` and ``authsite token …``."""

from . import adding, doctor
from .clients import client
from .resources import resource
from .tokens import token

__all__ = ["adding", "client", "doctor", "resource", "token"]
