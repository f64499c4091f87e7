"""Why a source cannot be read."""


class SourceUnusable(Exception):
    """The source as a whole cannot be read, or not any further; the text says what to do."""
