"""What a grant states: its name, its parameters, its errors, and how it issues tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from pydantic import ConfigDict, Field

from authsite.oauth.clients.authentication import (
    AuthenticatedClient,
    EnabledClient,
    FoundClient,
    enabled,
)
from authsite.oauth.errors import RESOURCE, ClientBody
from authsite.oauth.models import MAX_URI
from authsite.oauth.tokens.format import TokenPair
from authsite.platform.context import Context
from authsite.platform.http.bodies import MaybeEmpty
from authsite.platform.http.errors import ApiError


def _describe(schema: dict[str, Any], model: type["GrantBody"]) -> None:
    schema["description"] = model.description
    schema["required"] = ["grant_type", *model.needs]
    for name, part in schema["properties"].items():
        if part.get("default") == "":
            del part["default"]
        if name in model.needs:
            part["minLength"] = 1


class GrantBody(ClientBody):
    """Base class of the parameters of a grant; it has those that all grants read.

    ``needs`` names the parameters that the grant cannot do without. A parameter without a value
    counts as omitted (RFC 6749, section 3.2), so the default of a text is the empty text. The
    client is authenticated before `MissingParameter` is raised.
    """

    model_config = ConfigDict(json_schema_extra=_describe)
    needs: ClassVar[tuple[str, ...]] = ()

    grant_type: Annotated[str, Field(min_length=1, max_length=1024, examples=["password"])]
    """The name of the grant."""
    scope: MaybeEmpty | None = None
    """Scopes, separated by spaces. The default is the client's, or the granted scope."""
    resource: Annotated[str | None, Field(max_length=MAX_URI, examples=[RESOURCE])] = None
    """The URI of the resource that the tokens are for (RFC 8707); they then have only scopes of
    that resource. The default is the client's, or none. A refresh may repeat it."""


Parameters = TypeVar("Parameters", bound=GrantBody)
Issue = Callable[[Context, AuthenticatedClient, Parameters], TokenPair]


@dataclass(frozen=True, slots=True)
class Grant(Generic[Parameters, FoundClient]):
    """A grant; a client may use it if its grant types contain ``name``.

    ``find``: what `identify` finds the client with, before it is authenticated; ``issue`` gets the
    client with all that was read in the same query.
    ``errors``: those of `issue` for the API document, besides `UnauthorizedClient` and
    `MissingParameter`.
    """

    name: str
    body: type[Parameters]
    errors: tuple[type[ApiError] | ApiError, ...]
    find: Callable[[Context, Parameters], Callable[..., FoundClient | None]]
    issue: Callable[[Context, FoundClient, Parameters], TokenPair]


def grant(
    name: str, *, body: type[Parameters], errors: tuple[type[ApiError] | ApiError, ...] = ()
) -> Callable[[Issue[Parameters]], Grant[Parameters, EnabledClient]]:
    """Decorator that makes a `Grant` of the function that issues its tokens.

    ``name`` is the value of ``grant_type``, which ``body`` has as a `Literal`. With the client
    nothing else is read.
    """

    def decorate(issue: Issue[Parameters]) -> Grant[Parameters, EnabledClient]:
        @wraps(issue)
        def issue_to(ctx: Context, found: EnabledClient, body: Parameters) -> TokenPair:
            return issue(ctx, found.client, body)

        return Grant(name, body, errors, find=lambda ctx, _body: enabled(ctx), issue=issue_to)

    return decorate
