"""Notes: a Pyramid application that includes authsite."""

from datetime import datetime

from pyramid.config import Configurator
from pyramid.renderers import JSON
from pyramid.session import SignedCookieSessionFactory
from sqlalchemy import create_engine

from .models import Base, request_session
from .security import NotesPolicy, Root


def main(global_config, **settings):
    """The WSGI application."""
    # With __file__ of the global configuration, authsite finds its files beside notes.ini.
    config = Configurator(
        settings={**global_config, **settings},
        root_factory=Root,
        security_policy=NotesPolicy(),
        session_factory=SignedCookieSessionFactory(settings["notes.cookie-secret"]),
        default_permission="use",
    )
    config.set_default_csrf_options(require_csrf=True)
    config.include("pyramid_jinja2")
    json = JSON()
    json.add_adapter(datetime, lambda moment, request: moment.isoformat())
    config.add_renderer("json", json)
    engine = create_engine(settings["notes.database-url"])
    Base.metadata.create_all(engine)
    engine.dispose()  # a server may fork after this: processes must not share a connection
    config.registry["notes.engine"] = engine
    config.add_request_method(request_session, "db", reify=True)

    config.include("authsite", route_prefix="auth")
    config.add_route("home", "/", guard="web", anonymous=True)
    config.add_route("notes", "/notes", guard="web")
    config.add_route("delete", "/notes/delete", guard="web", fresh="10m")
    config.add_route("api", "/api/notes", guard="api", scope="notes:read")
    config.scan(".views")
    return config.make_wsgi_app()
