"""Which requests a middleware protects."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

_AMBIGUOUS = re.compile(r"^[^/]|//|\\|\ufffd|/\.\.?(?:/|$)")
_WRONG = re.compile(
    r"[*?#]"
)  # also patterns that would protect nothing: a query is not a part of a path


@dataclass(frozen=True)
class Paths:
    """``/reports`` in ``protect`` is this path and everything below it; ``/`` is everything.

    ``exempt`` is stricter: ``/healthz`` or ``/`` is this path alone, ``/static/*`` is what is below
    ``/static/``. Paths are compared as decoded text. Raises ValueError for anything else, and for
    ``/*``, which would open everything.
    """

    protect: Sequence[str] = ("/",)
    exempt: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.protect, str) or isinstance(self.exempt, str):
            raise ValueError("protect and exempt are lists of paths")
        for path in (*self.protect, *self.exempt):
            if "%" in path:
                raise ValueError(f"paths are compared decoded: write {unquote(path)!r}")
            if not path.startswith("/") or _WRONG.search(path.removesuffix("/*")) or path == "/*":
                raise ValueError(f"{path!r} is not a path such as /reports or /static/*")

    def protects(self, path: str) -> bool:
        """Whether a request for ``path`` needs a token.

        A path that servers and frameworks may read differently always needs one: with ``//`` or
        ``/../`` in it, without a slash at its beginning, which Werkzeug adds, or with bytes that
        are not UTF-8, which Bottle skips.
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
