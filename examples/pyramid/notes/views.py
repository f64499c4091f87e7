"""The pages, and the API."""

from pyramid.httpexceptions import HTTPSeeOther
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config
from sqlalchemy import delete, select
from zope.sqlalchemy import mark_changed

from .models import Note


@view_config(
    route_name="home",
    request_method="GET",
    renderer="templates/home.jinja2",
    permission=NO_PERMISSION_REQUIRED,
)
def home(request):
    return {"name": name_of(request.authsite.caller)}


@view_config(route_name="notes", request_method="GET", renderer="templates/notes.jinja2")
def show(request):
    return {"name": name_of(request.authsite.caller), "notes": notes_of(request)}


@view_config(route_name="notes", request_method="POST")
def add(request):
    owner = request.authsite.caller.user.id
    request.db.add(Note(owner=owner, text=request.POST.get("text", "")))
    return HTTPSeeOther(request.route_path("notes"))


@view_config(route_name="delete", request_method="GET", renderer="templates/delete.jinja2")
def ask(request):
    return {}


@view_config(route_name="delete", request_method="POST")
def delete_all(request):
    request.db.execute(delete(Note).where(Note.owner == request.authsite.caller.user.id))
    mark_changed(request.db)  # zope.sqlalchemy does not see statements of Core
    request.session.flash("Your notes are deleted.")
    return HTTPSeeOther(request.route_path("notes"))


@view_config(route_name="api", request_method="GET", renderer="json")
def api(request):
    notes = notes_of(request)
    return {"notes": [{"text": note.text, "written_at": note.written_at} for note in notes]}


def name_of(caller):
    """The name of the user: the address once it is confirmed, since before it may be another's."""
    if caller is None:
        return None
    return caller.email if caller.email_verified else caller.user.id


def notes_of(request):
    """The notes of the caller's user; 403 for a client that acts for itself."""
    owner = request.authsite.caller.require_user().id
    return request.db.scalars(select(Note).where(Note.owner == owner).order_by(Note.id)).all()
