"""The pages of groups."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import StringConstraints
from pyramid.response import Response
from pyramid.view import view_config
from sqlalchemy import select

from authsite.admin.confirming import Confirmation, OptionalReason, confirming, done
from authsite.admin.groups import service
from authsite.admin.groups.service import NamingRoute, naming_routes, routes_by_scope, routes_for
from authsite.admin.guard import administrator_of, require_other, require_rank
from authsite.admin.lists import ListQuery, query_of
from authsite.admin.users import detail
from authsite.admin.users.pages.asking import known_clients
from authsite.groups import applying
from authsite.groups.errors import ReservedName
from authsite.groups.service import GroupValues, ShownGroup
from authsite.oauth.models import Client
from authsite.oauth.tokens import scope_loss
from authsite.platform.addresses import shown
from authsite.platform.context import Context
from authsite.platform.http.address import route_path
from authsite.platform.http.bodies import Identifier, Missing
from authsite.platform.http.errors import FieldError
from authsite.platform.i18n import _
from authsite.platform.request_state import Request
from authsite.users.groups.labels import OWNER, is_reserved

# The confirming pages of groups and of their members.


FIELDS = "authsite:templates/admin/groups/group_fields.jinja2"
ADD_FIELDS = "authsite:templates/admin/groups/add_fields.jinja2"
_OWNERS = _("All owners of this site get an e-mail.")
_USER = _("${user} gets an e-mail about this.")
_LOST = _("Tokens of members that carry a scope which no group gives them any more end.")
_LATER = _(
    "Of so many members this takes some minutes, in the background. Until it has come to a member,"
    " that one keeps the tokens, and the group where pages and apps ask for it. No new token gets"
    " the scopes."
)
Title = Annotated[str, StringConstraints(max_length=200), Missing(_("Enter a title."))]
Line = Annotated[str, StringConstraints(max_length=1024)]


class GroupForm(OptionalReason):
    """The values of a group; an empty field removes its value."""

    title: Title
    require_acr: Line = ""
    scopes: Line = ""


class NewGroupForm(GroupForm):
    """A new group."""

    name: Annotated[str, StringConstraints(max_length=64), Missing(_("Enter a name."))]


class MemberForm(OptionalReason):
    """Who is to be a member."""

    user: Annotated[Identifier, Missing(_("Enter an e-mail address, login name or id."))]


def ask_new(request: Request) -> Confirmation:
    """The page of a new group."""
    return Confirmation(
        title=_("Create a group"),
        effects=[_("The group has no members at first."), _("Its name never changes.")],
        button=_("Create"),
        back=route_path(request, "authsite.admin.groups"),
        fields=FIELDS,
        names=("name", "title", "require_acr", "scopes"),
        values={"group": None},
    )


def _judge_new(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by = request.authsite.ctx, administrator_of(request)
    return service.creation_errors(ctx, by, given.name, _values(given), given.reason)


@confirming(
    "authsite.admin.groups.new",
    NewGroupForm,
    ask=ask_new,
    others=_judge_new,
    admin="groups:write",
    recent=True,
)
def create(request: Request) -> Response:
    """Create a group."""
    given: NewGroupForm = request.authsite.validated
    by = administrator_of(request)
    service.create(request.authsite.ctx, by, given.name, _values(given), given.reason)
    return done(request, _page(request, given.name), "created")


def ask_change(request: Request) -> Confirmation:
    """The page of a change."""
    group = _own(request)
    return Confirmation(
        title=_("Change the group ${name}", mapping={"name": group.name}),
        effects=[_LOST, *_numbers(request, group)],
        button=_("Save"),
        back=_page(request, group.name),
        fields=FIELDS,
        names=("title", "require_acr", "scopes"),
        values={"group": group},
    )


def _judge_change(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    values = _differing(_own(request), _values(given))
    return service.change_errors(ctx, by, name, values, given.reason, GroupValues._fields)


@confirming(
    "authsite.admin.groups.change",
    GroupForm,
    ask=ask_change,
    others=_judge_change,
    admin="groups:write",
    recent=True,
)
def change(request: Request) -> Response:
    """Change a group."""
    given: GroupForm = request.authsite.validated
    by, name = administrator_of(request), request.matchdict["name"]
    differing = _differing(_own(request), _values(given))
    service.change(request.authsite.ctx, by, name, differing, given.reason)
    return done(request, _page(request, name), "changed")


def _differing(group: ShownGroup, given: GroupValues) -> GroupValues:
    """The values that differ from those of the group: what is given goes through all members."""
    return GroupValues(
        given.title if given.title != group.title else None,
        given.scopes if set((given.scopes or "").split()) != set(group.scopes) else None,
        given.require_acr if (given.require_acr or None) != group.require_acr else None,
    )


def _values(given: Any) -> GroupValues:
    """The values of a `GroupForm` as services have them."""
    return GroupValues(given.title, given.scopes, given.require_acr)


def ask_delete(request: Request) -> Confirmation:
    """The page before a group is deleted."""
    group = _own(request)
    return Confirmation(
        title=_("Delete the group ${name}?", mapping={"name": group.name}),
        effects=[_("All members leave the group."), _LOST, *_numbers(request, group)],
        button=_("Delete"),
        back=_page(request, group.name),
        dangerous=True,
    )


@confirming("authsite.admin.groups.delete", ask=ask_delete, admin="groups:write", recent=True)
def delete(request: Request) -> Response:
    """Delete a group."""
    by, name = administrator_of(request), request.matchdict["name"]
    routes = routes_for(naming_routes(request.registry), name)
    service.delete(request.authsite.ctx, by, name, routes, request.authsite.validated.reason)
    return done(request, route_path(request, "authsite.admin.groups"), "deleted")


def ask_add(request: Request) -> Confirmation:
    """The page that asks who is to be a member."""
    group = service.one(request.authsite.ctx, request.matchdict["name"])
    return Confirmation(
        title=_("Add a user to the group ${name}", mapping={"name": group.name}),
        effects=[_("What the group gives counts from the next sign-in or refresh on.")],
        notices=[_("The user gets an e-mail about this."), *_to_owners(group.name)],
        button=_("Add"),
        back=_page(request, group.name),
        fields=ADD_FIELDS,
        names=("user",),
    )


def _judge_add(request: Request, given: Any) -> Sequence[FieldError]:
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    return service.addition_errors(ctx, by, name, given.user, given.reason)


@confirming(
    "authsite.admin.groups.add",
    MemberForm,
    ask=ask_add,
    others=_judge_add,
    admin="groups:write",
    recent=True,
)
def add(request: Request) -> Response:
    """Add a user to a group; by an address only one who has confirmed it."""
    given: MemberForm = request.authsite.validated
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    service.add_named(ctx, by, name, given.user, given.reason)
    return done(request, _page(request, name), "added")


def ask_remove(request: Request) -> Confirmation:
    """The page before a user leaves a group."""
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    service.require(ctx, name)
    user = detail.find(ctx, request.matchdict["id"])
    require_other(by, user)
    require_rank(by, user)
    address = {"user": shown(user.email)}
    return Confirmation(
        title=_("Remove ${user} from the group ${name}?", mapping={**address, "name": name}),
        effects=[
            _("Tokens of the user that carry a scope of this group alone end."),
            *(known_clients(request, user) if name == OWNER else ()),
        ],
        notices=[_(_USER, mapping=address), *_to_owners(name)],
        button=_("Remove"),
        back=_page(request, name),
        dangerous=True,
    )


@confirming("authsite.admin.groups.remove", ask=ask_remove, admin="groups:write", recent=True)
def remove(request: Request) -> Response:
    """Remove a user from a group."""
    by, name = administrator_of(request), request.matchdict["name"]
    given: OptionalReason = request.authsite.validated
    service.remove(request.authsite.ctx, by, name, request.matchdict["id"], given.reason)
    return done(request, _page(request, name), "removed")


def _own(request: Request) -> ShownGroup:
    """The group of the page. Raises `ReservedName`, since a reserved one never changes."""
    name = request.matchdict["name"]
    if is_reserved(name):
        raise ReservedName(name)
    return service.one(request.authsite.ctx, name)


def _to_owners(name: str) -> tuple[str, ...]:
    return (_OWNERS,) if is_reserved(name) else ()


def _numbers(request: Request, group: ShownGroup) -> list[str]:
    """How many members there are, and how many tokens may end.

    The tokens of a large group are not counted: that would take seconds.
    """
    most = service.COUNTED_TO
    members = _("Members of the group: ${number}", mapping={"number": _counted(group.member_count)})
    if group.member_count > most:
        return [members, _LATER]
    ctx = request.authsite.ctx
    number = scope_loss.count_of_members(ctx, group.name, group.scopes, most + 1)
    counted = {"number": _counted(number)}
    return [members, _("Tokens of members with a scope of this group: ${number}", mapping=counted)]


def _counted(number: int) -> str:
    return str(number) if number <= service.COUNTED_TO else f"{service.COUNTED_TO:,}+"


def _page(request: Request, name: str) -> str:
    return route_path(request, "authsite.admin.groups.group", name=name)


# The list of groups with who can do what, and the page of a group.


MAX_CLIENTS = 200  # that name a group, on one page


@view_config(
    route_name="authsite.admin.groups",
    request_method="GET",
    renderer="authsite:templates/admin/groups/groups.jinja2",
    admin="groups:read",
)
def groups(request: Request) -> dict[str, Any]:
    """A part of the list: each group with its scopes, and the routes and clients that name it."""
    query = query_of(request, ListQuery)
    ctx, by = request.authsite.ctx, administrator_of(request)
    found = service.some(ctx, by, query.limit, query.cursor)
    routes = naming_routes(request.registry)
    names = [each.name for each in found.rows]
    clients = _clients(ctx, names) if by.may("clients:read") else {}
    return {
        "found": found,
        "routes": {name: _routes_of(routes, name) for name in names},
        "clients": clients,
        "counted_to": service.COUNTED_TO,
        "deletions": applying.deletions(ctx.db),
    }


@view_config(
    route_name="authsite.admin.groups.group",
    request_method="GET",
    renderer="authsite:templates/admin/groups/group.jinja2",
    admin="groups:read",
)
def group(request: Request) -> dict[str, Any]:
    """One group, and a part of its members."""
    query = query_of(request, ListQuery)
    ctx, by, name = request.authsite.ctx, administrator_of(request), request.matchdict["name"]
    found = service.one(ctx, name)
    routes = naming_routes(request.registry)
    return {
        "group": found,
        "reserved": is_reserved(name),
        "members": service.members(ctx, by, name, query.limit, query.cursor),
        "routes": _routes_of(routes, name),
        "by_scope": {each: routes_by_scope(routes, [each]) for each in found.scopes},
        "clients": _clients(ctx, [name]).get(name, []) if by.may("clients:read") else [],
        "counted_to": service.COUNTED_TO,
    }


def _routes_of(routes: Iterable[NamingRoute], name: str) -> list[NamingRoute]:
    named = set(routes_for(routes, name))
    return [each for each in routes if each.name in named]


def _clients(ctx: Context, names: Iterable[str]) -> dict[str, list[Client]]:
    """The clients that are for the members of each of these groups alone."""
    query = select(Client).where(Client.require_group.in_(list(names)))
    found: dict[str, list[Client]] = {}
    for client in ctx.db.scalars(query.order_by(Client.name, Client.id).limit(MAX_CLIENTS)):
        found.setdefault(client.require_group or "", []).append(client)
    return found
