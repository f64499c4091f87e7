"""``authsite group …`` and ``authsite admin …``"""

from .administrators import admin
from .groups import group

__all__ = ["admin", "group"]
