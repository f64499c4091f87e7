"""Groups and their members: the API and the pages, and who can do what."""

from typing import TYPE_CHECKING

from authsite.admin.navigation import add_routes

if TYPE_CHECKING:
    from pyramid.config import Configurator


def includeme(config: "Configurator") -> None:
    """The routes."""
    add_routes(
        config,
        api={
            "groups": "/groups",
            "groups.group": "/groups/{name}",
            "groups.members": "/groups/{name}/members",
            "groups.member": "/groups/{name}/members/{id}",
        },
        pages={
            "groups": "/groups",
            "groups.new": "/new-group",  # any text after /groups/ may be the name of a group
            "groups.group": "/groups/{name}",
            "groups.change": "/groups/{name}/change",
            "groups.delete": "/groups/{name}/delete",
            "groups.add": "/groups/{name}/add",
            "groups.remove": "/groups/{name}/members/{id}/remove",
        },
    )
