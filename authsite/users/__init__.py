"""Users: who they are, and their passwords."""


def includeme(config):
    """The user endpoint, under both of its names."""
    config.add_route("authsite.user", "/v1/user", guard="api")
    config.add_route("authsite.profile", "/v1/profile", guard="api")
    config.scan(".api")
