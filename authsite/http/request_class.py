"""The stand-alone application's request class.

Pyramid puts what rooms add to a request onto each request anew, by making a class for every one.
Where the application is ours, the class is made once.
"""

from typing import Any

from pyramid.interfaces import IRequestExtensions
from pyramid.request import Request


def settle(config: Any) -> None:
    """Move all request methods and properties registered so far onto one request class."""
    config.commit()
    extensions = config.registry.queryUtility(IRequestExtensions)
    settled = type("AuthsiteRequest", (Request,), {**extensions.methods, **extensions.descriptors})
    extensions.methods.clear()
    extensions.descriptors.clear()
    config.set_request_factory(settled)
