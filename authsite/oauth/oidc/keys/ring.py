"""Stand-in."""

from authsite.context import Context


def require_signers(ctx: Context, *algs: str) -> None:
    """Raise an error without a key."""
