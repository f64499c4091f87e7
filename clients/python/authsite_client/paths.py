"""Which requests a middleware protects."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_AMBIGUOUS = re.compile(r"^[^/]|//|\\|/\.\.?(?:/|$)")


@dataclass(frozen=True)
class Paths:
    """``/reports`` in ``protect`` is this path and everything below it; ``/`` is everything.

    ``exempt`` is stricter: ``/healthz`` or ``/`` is this path alone, ``/static/*`` is what is below
    ``/static/``. Raises ValueError for anything else, and for ``/*``, which would open everything.
    """

    protect: Sequence[str] = ("/",)
    exempt: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.protect, str) or isinstance(self.exempt, str):
            raise ValueError("protect and exempt are lists of paths")
        for path in (*self.protect, *self.exempt):
            if not path.startswith("/") or "*" in path.removesuffix("/*") or path == "/*":
                raise ValueError(f"{path!r} is not a path such as /reports or /static/*")

    def protects(self, path: str) -> bool:
        """Whether a request for ``path`` needs a token.

        A path that servers and frameworks may read differently always needs one: with ``//`` or
        ``/../`` in it, or without a slash at its beginning, which Werkzeug adds.
        """
        path = path or "/"
        if _AMBIGUOUS.search(path):
            return True
        if any(_is_exempt(path, each) for each in self.exempt):
            return False
        return any(f"{path}/".startswith(f"{_folder(each)}/") for each in self.protect)


def _is_exempt(path: str, pattern: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("/*") else path == pattern


def _folder(pattern: str) -> str:
    return pattern.removesuffix("*").rstrip("/")
