"""Which requests a middleware protects."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Paths:
    """``/reports`` in ``protect`` is this path and everything below it; ``/`` is everything.

    ``exempt`` is stricter: ``/healthz`` is this path alone, ``/static/`` what is below it.
    """

    protect: Sequence[str] = ("/",)
    exempt: Sequence[str] = ()

    def __post_init__(self) -> None:
        for each in (self.protect, self.exempt):
            if isinstance(each, str) or not all(path.startswith("/") for path in each):
                raise ValueError("protect and exempt are lists of paths, which begin with a slash")

    def protects(self, path: str) -> bool:
        """Whether a request for ``path`` needs a token.

        A path that servers and frameworks may read differently (``//``, ``/../``) always needs one.
        """
        path = path or "/"
        if "//" in path or "\\" in path or {".", ".."} & set(path.split("/")):
            return True
        if any(path.startswith(each) if each.endswith("/") else path == each
               for each in self.exempt):  # fmt: skip
            return False
        return any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in self.protect)
