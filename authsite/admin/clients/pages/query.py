"""The query of the page with the list of clients."""

from typing import Annotated

from pydantic import Field

from authsite.admin.queries import ListQuery


class PageQuery(ListQuery):
    """Query of the page."""

    q: Annotated[str | None, Field(max_length=254)] = None
    """Only names with this text in them."""
