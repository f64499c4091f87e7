"""The request class of the stand-alone application.

Pyramid creates a class for each request, with the request methods and properties that packages have
added. In the stand-alone application nothing is added after start-up, so one class serves all.
"""

from pyramid.config import Configurator
from pyramid.interfaces import IRequestExtensions
from pyramid.request import Request


def freeze_request_class(config: Configurator) -> None:
    """Move all request methods and properties registered so far onto one request class."""
    config.commit()
    extensions = config.registry.queryUtility(IRequestExtensions)
    members = {**extensions.methods, **extensions.descriptors}
    request_class = type("AuthsiteRequest", (Request,), members)
    extensions.methods.clear()
    extensions.descriptors.clear()
    config.set_request_factory(request_class)
