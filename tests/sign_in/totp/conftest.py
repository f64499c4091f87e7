"""As for the changes of factors."""

from tests.factors.conftest import ann, steps

__all__ = ["ann", "steps"]
