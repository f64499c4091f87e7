"""The error of a value that a client or a resource cannot have."""

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
