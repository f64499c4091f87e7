"""Registrations during configuration: a lower package calls what it cannot import."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pyramid.exceptions import ConfigurationError

if TYPE_CHECKING:
    from pyramid.config import Configurator

T = TypeVar("T")


class HasRegistrations(Protocol):
    """`authsite.platform.context.Services`."""

    @property
    def registrations(self) -> "Registrations":
        """All that was registered."""


class Registered(Generic[T]):
    """Values that packages register under a name, with one directive of the configurator.

    The package of the directive has this object as a constant, and reads the values with `of`.
    """

    def __init__(self, plural: str) -> None:
        self._plural = plural

    def of(self, services: "HasRegistrations") -> dict[str, T]:
        """The values that were registered in this application, in the order of registration."""
        return services.registrations.by_directive.setdefault(self, {})

    def add(self, config: "Configurator", value: T, name: str | None = None) -> None:
        """Register ``value``; without a name its number is the name.

        Raises `ConfigurationError` if the name is taken.
        """
        registered = self.of(config.registry["authsite"])
        name = str(len(registered)) if name is None else name
        if name in registered:
            raise ConfigurationError(f"two {self._plural} are called {name!r}; rename one")
        registered[name] = value


class Registrations:
    """All registrations of one application; a command loads them when it first needs them."""

    def __init__(self, load: Callable[[], "dict[Registered[Any], dict[str, Any]]"] = dict) -> None:
        self._load = load

    @cached_property
    def by_directive(self) -> "dict[Registered[Any], dict[str, Any]]":
        """What was registered, by name, for each `Registered`."""
        return self._load()
