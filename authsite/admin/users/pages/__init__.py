"""The pages of users: the list, one user, and a confirming page for each action."""

PAGES = {
    "users": "/users",
    "users.user": "/users/{id}",
    **{
        f"users.{name}": f"/users/{{id}}/{name}"
        for name in (
            "disable",
            "enable",
            "confirm",
            "profile",
            "change-email",
            "delete",
            "groups",
            "sign-out",
            "reset-factors",
            "forget-browsers",
            "lift-limits",
            "reset-password",
            "send-verification",
            "export",
        )
    },
    "users.session": "/users/{id}/sessions/{sid}",
    "users.factor": "/users/{id}/factors/{fid}",
    "users.token": "/users/{id}/tokens/{tid}",
    "users.tokens": "/users/{id}/tokens",
}
"""The paths below /admin by the names of the routes."""
