"""GET /v1/admin/health"""

from typing import Annotated, Any, Literal

from pydantic import Field
from pyramid.view import view_config
from typing_extensions import TypedDict

from authsite.platform.http.api_metadata import Operation, response_body
from authsite.platform.request_state import Request
from authsite.platform.runtime.clock import rfc3339

from . import service


class FindingAnswer(TypedDict):
    """A line of the report."""

    state: Literal["wrong", "change", "note", "ok"]
    """`wrong` has an effect now; `change` is to be changed before production."""
    subject: Annotated[str, Field(examples=["database-url"])]
    """What it is about."""
    message: Annotated[str, Field(examples=["reachable, schema at 0021"])]
    """What was found, and what to do."""


class TaskAnswer(TypedDict):
    """A background task."""

    name: Annotated[str, Field(examples=["cleanup"])]
    """Its name."""
    last_success_at: str | None
    """In any process of this machine; null before the first."""
    waits_since: Annotated[str, Field(examples=["2026-05-01T12:00:00Z"])]
    """When a process began to wait for the first success."""


class QueueAnswer(TypedDict):
    """What waits."""

    name: Annotated[str, Field(examples=["mails that wait"])]
    """What is counted."""
    number: int | None
    """At most 1,000; null if the database does not answer."""


@response_body("The health of the service, at most a minute old.")
class HealthAnswer(TypedDict):
    """The health."""

    checked_at: Annotated[str, Field(examples=["2026-05-01T12:00:00Z"])]
    """When it was found."""
    findings: list[FindingAnswer]
    """What `authsite doctor` finds, the worst first, without what takes long: providers and the
    mail server are not asked, and users and tokens are not counted."""
    tasks: list[TaskAnswer]
    """The background tasks."""
    queues: list[QueueAnswer]
    """What waits."""
    versions: Annotated[dict[str, str], Field(examples=[{"authsite": "1.0.0"}])]
    """The versions of authsite and of what it runs on."""


@view_config(
    route_name="authsite.admin.api.health",
    request_method="GET",
    renderer="json",
    admin="health:read",
)
@Operation("Show the health of the service", {200: HealthAnswer})
def health(request: Request) -> dict[str, Any]:
    found = service.health(request.authsite.ctx)
    return {
        "checked_at": rfc3339(found.checked_at),
        "findings": [vars(each) for each in found.findings],
        "tasks": [
            {
                "name": each.name,
                "last_success_at": each.succeeded_at and rfc3339(each.succeeded_at),
                "waits_since": rfc3339(each.waits_since),
            }
            for each in found.tasks
        ],
        "queues": [each._asdict() for each in found.queues],
        "versions": found.versions,
    }
