"""This description: an OpenAPI 3.1 document and a page to read it."""


def includeme(config):
    """The document, and the page made of it."""
    config.add_route("authsite.openapi", "/v1/openapi.json")
    config.add_route("authsite.docs", "/docs")
    config.scan(".api")
    config.scan(".pages")
