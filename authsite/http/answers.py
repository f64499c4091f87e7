"""What a view answers, stated beside it: the OpenAPI document is made of this, and of nothing else.

A view says ``@answers({200: User}, errors=(UserRequired,))`` under its ``view_config``. What
follows from the route and the body (who may come in, which bodies are refused) is not repeated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from .errors import ApiError

CLIENT_BASIC = "clientBasic"
REFRESH_COOKIE = "refreshCookie"

# Decorator of a TypedDict that is a body: a field that is not declared must not be answered, and
# the words under a field describe it.
exact = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))


class Parameters(BaseModel):
    """The base of what stands in the path or in the query; the words under a field describe it."""

    model_config = ConfigDict(use_attribute_docstrings=True)


@exact
class Message(TypedDict):
    """Done, or on its way."""

    message: Annotated[str, Field(examples=["Done."])]
    """For a person."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What one view answers. ``bodies``: status -> the type of its body, None for no body.

    ``errors`` are classes or, where words or fields depend on the case, instances.
    ``credentials`` names a security scheme that may be used instead of the body's fields.
    """

    bodies: Mapping[int, Any] = field(default_factory=dict)
    errors: Sequence[ApiError | type[ApiError]] = ()
    credentials: str | None = None
    path: type[Parameters] | None = None
    query: type[Parameters] | None = None


View = TypeVar("View", bound=Callable[..., Any])
_NOTHING_STATED = Answers()
_stated: dict[Callable[..., Any], Answers] = {}


def answers(
    bodies: Mapping[int, Any],
    *,
    errors: Sequence[ApiError | type[ApiError]] = (),
    credentials: str | None = None,
    path: type[Parameters] | None = None,
    query: type[Parameters] | None = None,
) -> Callable[[View], View]:
    """Decorator: state what a view answers; it changes nothing about the view."""

    def state(view: View) -> View:
        _stated[view] = Answers(bodies, errors, credentials, path, query)
        return view

    return state


def stated_by(view: Any) -> Answers:
    """What ``view`` states; nothing for a view that is silent."""
    return _stated.get(view, _NOTHING_STATED)
