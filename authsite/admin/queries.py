"""The query of a list and its answer: ``limit`` and ``cursor``, ``data``, ``next`` and Link."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from authsite.platform.http.address import route_path
from authsite.platform.http.api_metadata import Parameters, ResponseHeader
from authsite.platform.http.errors import FieldError, MalformedRequest, ValidationFailed
from authsite.platform.i18n import _
from authsite.platform.request_state import Request

from .lists import DEFAULT_LIMIT, MAX_LIMIT, Page

_NOT_A_LIMIT = _("Give a number from 1 to 200.")
_NOT_A_VALUE = _("This filter does not know the value. Give another, or leave it out.")
Query = TypeVar("Query", bound=Parameters)
Row = TypeVar("Row")
LINK = {
    "Link": ResponseHeader(
        "The URL of the next part (RFC 8288).",
        '</v1/admin/events?cursor=b3RoZXI>; rel="next"',
        always=False,
    )
}


class ListQuery(Parameters):
    """Query of a list."""

    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """The largest number of rows."""
    cursor: Annotated[str | None, Field(examples=["b3RoZXI"])] = None
    """`next` of the part before. The filters must be the same."""


def query_of(request: Request, model: type[Query]) -> Query:
    """The query string as an instance of ``model``; an empty parameter is absent.

    Raises `MalformedRequest` for a parameter that occurs twice, and `ValidationFailed`.
    """
    given = [(name, value) for name, value in request.GET.items() if name in model.model_fields]
    values = {name: value.strip() for name, value in given if value.strip()}
    if len(dict(given)) < len(given):
        raise MalformedRequest
    if any("\0" in value for value in values.values()):
        raise _failed(name for name, value in values.items() if "\0" in value)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise _failed(str(item["loc"][0]) for item in error.errors()) from None


def _failed(names: Any) -> ValidationFailed:
    return ValidationFailed(details=[invalid(name) for name in names])


def invalid(name: str) -> FieldError:
    """The error of a filter whose value cannot be understood."""
    return FieldError("invalid", name, _NOT_A_LIMIT if name == "limit" else _NOT_A_VALUE)


def answer(
    request: Request, page: Page[Row], as_json: Callable[[Row], Mapping[str, Any]]
) -> dict[str, Any]:
    """The body of a part of a list; sets the header Link if there is a next part."""
    add_link(request, page.next)
    return {"data": [as_json(row) for row in page.rows], "next": page.next}


def add_link(request: Request, next_: str | None) -> None:
    """Set the header Link: the same request with the cursor ``next_``."""
    if next_ is not None:
        path = next_path(request, next_)
        request.response.headers["Link"] = f'<{path}>; rel="next"'


def next_path(request: Request, next_: str) -> str:
    """The path of the same route and filters, with the cursor ``next_``."""
    route = request.matched_route
    query = {**{name: value for name, value in request.GET.items() if value}, "cursor": next_}
    return route_path(request, route.name, **request.matchdict, _query=query)
