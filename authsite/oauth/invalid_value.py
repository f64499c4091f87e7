"""The errors of values that a client or a resource cannot have."""

from collections.abc import Callable, Mapping, Sequence

from authsite.platform.i18n import translate


class InvalidValue(ValueError):
    """A client or a resource cannot have a value; ``message`` says what to give instead.

    The message is one of `authsite.platform.i18n`, which pages show in their language. As a text
    the error is English, after the name of the ``field`` if it has one: for commands, and for the
    programs that register clients.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        text = translate(message)
        super().__init__(f"{field}: {text}" if field else text)
        self.message, self.field = message, field

    def of(self, field: str) -> "InvalidValue":
        """The error with its field, if it has none yet; the text stays."""
        self.field = self.field or field
        return self


class InvalidValues(ValueError):
    """A client cannot have several values; ``errors`` has one for each field."""

    def __init__(self, errors: Sequence[InvalidValue]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = tuple(errors)


def errors_of(checks: Mapping[str, Callable[[], object]]) -> list[InvalidValue]:
    """The errors with which the checks of some fields raise ValueError, by their names."""
    found = []
    for field, check in checks.items():
        try:
            check()
        except InvalidValue as error:
            found.append(error.of(field))
        except ValueError as error:
            found.append(InvalidValue(str(error)).of(field))
    return found


def require_valid(errors: Sequence[InvalidValue]) -> None:
    """Raise the one error, or several as `InvalidValues`, if there are any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InvalidValues(errors)
