"""Account: the signed-in user's profile, password, places signed in, and its end."""


def includeme(config):
    """The endpoints below /v1/user, and the account page with its forms."""
    config.add_route("authsite.user.password", "/v1/user/password", guard="api")
    config.add_route("authsite.user.sessions", "/v1/user/sessions", guard="api")
    config.add_route("authsite.user.session", "/v1/user/sessions/{id}", guard="api")
    for name, path in {
        "account": "/account",
        "account.profile": "/account/profile",
        "account.email": "/account/email",
        "account.email.resend": "/account/email/resend",
        "account.password": "/account/password",
        "account.sessions.end_others": "/account/sessions/end-others",
        "account.sessions.end": "/account/sessions/{id}/end",
        "account.delete": "/account/delete",
    }.items():
        config.add_route(f"authsite.{name}", path, guard="web")
    config.scan(".api")
    config.scan(".pages")
