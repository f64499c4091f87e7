"""/v1/admin/users and what is below it."""

API = {
    "users": "/users",
    "users.user": "/users/{id}",
    **{
        f"users.{name}": f"/users/{{id}}/{name}"
        for name in (
            "sessions",
            "tokens",
            "factors",
            "mails",
            "events",
            "limits",
            "export",
            "disable",
            "enable",
            "confirm",
            "reset-factors",
            "sign-out",
            "reset-password",
            "send-verification",
            "change-email",
        )
    },
    "users.session": "/users/{id}/sessions/{sid}",
    "users.token": "/users/{id}/tokens/{tid}",
    "users.factor": "/users/{id}/factors/{fid}",
}
"""The paths below /v1/admin by the names of the routes."""
