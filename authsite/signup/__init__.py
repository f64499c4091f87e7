"""Registration: from a stranger to a user."""


def includeme(config):
    """The endpoint and the page."""
    config.add_route("authsite.register", "/v1/register")
    config.add_route("authsite.register.page", "/register")
    config.scan(".api")
    config.scan(".pages")
