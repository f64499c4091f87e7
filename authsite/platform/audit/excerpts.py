"""What another side has sent, as log and audit trail may have it."""

LONGEST = 300  # characters


def excerpt(text: object, longest: int = LONGEST) -> str:
    """``text`` in ASCII, in one line, and shortened; other characters as escapes."""
    beginning = str(text)[: longest + 1]  # an escape is not shorter than its character
    escaped = beginning.encode("ascii", "backslashreplace").decode()
    printable = "".join(each if each.isprintable() else repr(each)[1:-1] for each in escaped)
    return printable if len(printable) <= longest else f"{printable[: longest - 3]}..."
