"""Metadata of the API for the OpenAPI document: tags, operations, and the models of responses.

A view has ``@Operation("Show the user", {200: UserAnswer}, errors=(UserRequired,))`` under its
``view_config``, and its package has an ``API_TAG``. Texts of the document are stated here, in
`ApiError.summary`, in `Body.description`, and under the fields of models; none is a docstring.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict, is_typeddict

from authsite.platform.settings import Settings

from .errors import ApiError

CLIENT_BASIC = "clientBasic"
REFRESH_COOKIE = "refreshCookie"

Type = TypeVar("Type", bound=type)
View = TypeVar("View", bound=Callable[..., Any])


class Tag(NamedTuple):
    """The tag of all operations in a package (OpenAPI 3.1, section 4.8.22)."""

    name: str
    description: str
    place: int
    """The tags of the document are in the order of these numbers, as a new reader needs them: ten
    apart, each another one."""


def response_body(description: str) -> Callable[[Type], Type]:
    """Decorator of a TypedDict that is a response body; the body has no other fields.

    The string under a field describes the field, also in a TypedDict that inherits it.
    """

    def decorate(body: Type) -> Type:
        bases = [each for each in getattr(body, "__orig_bases__", ()) if is_typeddict(each)]

        def describe(schema: dict[str, Any]) -> None:
            schema["description"] = description
            for base in bases:  # Pydantic reads the strings of the class itself alone
                for name, part in TypeAdapter(base).json_schema()["properties"].items():
                    if "description" in part:
                        schema["properties"][name].setdefault("description", part["description"])

        config = ConfigDict(
            extra="forbid", use_attribute_docstrings=True, json_schema_extra=describe
        )
        return with_config(config)(body)

    return decorate


class Parameters(BaseModel):
    """Base class of the parameters in a path or query; the string under a field describes it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def choices(cls, _cfg: Settings) -> Mapping[str, Sequence[str]]:
        """The values that the settings allow for a parameter, the usual one first."""
        return {}


@response_body("A message to people.")
class Message(TypedDict):
    """A response that only has a message."""

    message: Annotated[str, Field(examples=["Done."])]
    """Human-readable."""


class Text(NamedTuple):
    """A body that is text of another media type than JSON."""

    media_type: str
    description: str
    example: str


class ResponseHeader(NamedTuple):
    """A header of a response (OpenAPI 3.1, section 4.8.21)."""

    description: str
    example: str
    always: bool = True
    """Whether every response of the status has it."""
    may_be_empty: bool = False
    """Whether it is empty in some responses, so that a number is described as text."""


Headers = Mapping[str, ResponseHeader]


@dataclass(frozen=True, slots=True)
class Operation:
    """Decorator that describes a view (OpenAPI 3.1, section 4.8.10) and returns it unchanged.

    ``responses`` maps a status to the type of the body, to a `Text`, or to None for an empty body.
    ``headers`` maps a status to the headers by which it differs from all other responses.
    ``errors`` has classes, and instances where the message or the fields depend on the case; the
    document adds those of the route's guard and of the view's ``body=``. ``credentials`` names a
    security scheme that a client may use instead of fields of the body.
    """

    summary: str
    responses: Mapping[int, Any]
    _: KW_ONLY
    description: str = ""
    headers: Mapping[int, Headers] = field(default_factory=dict)
    errors: Sequence[ApiError | type[ApiError]] = ()
    credentials: str | None = None
    path: type[Parameters] | None = None
    query: type[Parameters] | None = None

    def __call__(self, view: View) -> View:
        _operations[view] = self
        return view


_operations: dict[Callable[..., Any], Operation] = {}
_UNDESCRIBED = Operation("", {})


def operation_of(view: Callable[..., Any]) -> Operation:
    """The `Operation` of ``view``; for a view without one, an empty `Operation`."""
    return _operations.get(view, _UNDESCRIBED)
