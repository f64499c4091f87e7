"""The application's own root factory and security policy."""

from pyramid.authorization import ACLHelper, Allow, Authenticated, Everyone


class Root:
    """Signed-in users may use the application."""

    __acl__ = ((Allow, Authenticated, "use"),)

    def __init__(self, request):
        self.request = request


class NotesPolicy:
    """Permissions from the ACL of the context, for the caller that authsite's guard has found."""

    def identity(self, request):
        return request.authsite.caller

    def authenticated_userid(self, request):
        caller = self.identity(request)
        return caller.user.id if caller and caller.user else None

    def permits(self, request, context, permission):
        userid = self.authenticated_userid(request)
        principals = [Everyone, Authenticated, userid] if userid else [Everyone]
        return ACLHelper().permits(context, principals, permission)

    def remember(self, request, userid, **kw):
        return []  # authsite's login page sets its own cookie

    def forget(self, request, **kw):
        return []
