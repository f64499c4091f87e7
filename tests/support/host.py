"""A host application: its own routes, views and security policy, authsite included."""

from pyramid.config import Configurator
from pyramid.response import Response
from pyramid.security import Allowed, Denied

from tests.support.folders import new_folder
from tests.support.site import SECRET, Site


class HostPolicy:
    """A policy as hosts have them: it knows nothing of tokens, and allows all or nothing."""

    def __init__(self, allows):
        self.allows = allows

    def identity(self, request):
        return None

    def authenticated_userid(self, request):
        return None

    def permits(self, request, context, permission):
        return Allowed("by the host") if self.allows else Denied("by the host")

    def remember(self, request, userid, **kw):
        return [("X-Host-Remembers", userid)]

    def forget(self, request, **kw):
        return []


class HostSite(Site):
    """`Site` for a host: ``build(config)`` adds its routes and views.

    ``before(config)`` does what a host may have done before it includes authsite, and ``own`` are
    settings of the host itself.
    """

    def __init__(
        self, url, build, *, prefix=None, allows=True, policy=True, before=None, own=(), **settings
    ):
        given = {f"authsite.{key.replace('_', '-')}": value for key, value in settings.items()}
        config = Configurator(
            settings={
                "authsite.secret": SECRET,
                "authsite.database-url": url,
                "authsite.bcrypt-cost": "10",
                "authsite.limits": "off",
                "authsite.mail-driver": "file",
                "authsite.mail-folder": new_folder("mail"),
                **given,
                **dict(own),
            }
        )
        if policy:
            config.set_security_policy(HostPolicy(allows))
        if before:
            before(config)
        config.include("authsite", route_prefix=prefix)
        build(config)
        self.app = config.make_wsgi_app()
        self.url = url
        self.cfg = self.app.registry["authsite"].settings
        self.database = self.app.registry["authsite"].database
        self.prefix = f"/{prefix}" if prefix else ""
        self.new_browser()

    def token(self, keys, status=200, **form):
        return self.http.post(f"{self.prefix}/v1/oauth/token", keys.form(**form), status=status)


def hello(request):
    """A view of the host: says who calls."""
    caller = request.authsite.caller
    return Response(f"hello {caller.user.email if caller and caller.user else 'you'}")


def route(path="/v1/reports", view_permission=None, **options):
    """A ``build`` for one route of the host with one view."""

    def build(config):
        config.add_route("reports", path, **options)
        stated = {} if view_permission is None else {"permission": view_permission}
        config.add_view(hello, route_name="reports", **stated)

    return build
