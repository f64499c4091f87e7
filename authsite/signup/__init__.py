"""Registration: from a stranger to a user."""


def includeme(config):
    """The route."""
    config.add_route("authsite.register", "/v1/register")
    config.scan(".api")
