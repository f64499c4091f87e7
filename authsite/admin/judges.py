"""What else is wrong with a refused request of an administrator: see `bodies.Judge`.

A judge first asks what the action asks before it looks at the fields: whether the caller may act,
and whether the object is there. So a request with a wrong body gets 403 or 404, too, and its answer
tells no one what they may not know.
"""

from collections.abc import Callable, Sequence
from typing import Any

from authsite.platform.http.bodies import Judge
from authsite.platform.http.errors import FieldError
from authsite.platform.request_state import Request

from . import reasons
from .guard import administrator_of

Before = Callable[[Request], object]
"""What an action asks before it looks at the fields; it raises what the action raises."""


def of_reason(before: Before, *, required: bool = False) -> Judge:
    """For an action whose body has a reason alone."""

    def judge(request: Request, given: Any) -> Sequence[FieldError]:
        before(request)
        return reasons.errors(administrator_of(request), given.reason, required=required)

    return judge
