"""A secret in a file of its own, as containers and systemd hand them over."""

_MAX = 65536  # bytes: /dev/zero ends too


def read_secret(path: str) -> str:
    """The text of a file without the line end; raises ValueError with what is wrong."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX + 1)
    except OSError as error:
        raise ValueError(
            f"the file cannot be read ({error.strerror}); name one that this user may read"
        ) from None
    except ValueError:
        raise ValueError("that is no name of a file") from None
    if len(content) > _MAX:
        raise ValueError("the file is larger than 64 KiB; name the file with the secret alone")
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        raise ValueError("the file is not text in UTF-8") from None
    if not text:
        raise ValueError("the file is empty; write the secret into it")
    return text
