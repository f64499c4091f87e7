"""The driver ``file``: one .eml file for each mail in ``mail-folder``, readable by its owner."""

import os
from collections.abc import Callable
from pathlib import Path

from authsite.platform.mail.message import Mail
from authsite.platform.settings import Settings

from . import BeforeSend, Transport, Unreachable


def transport(cfg: Settings) -> Transport:
    """Writes into ``mail-folder``, which is created if it does not exist."""
    write = writer(Path(cfg.mail_folder))

    def send(mail: Mail, before_send: BeforeSend) -> None:
        before_send()
        write(mail)

    return send


def writer(folder: Path) -> Callable[[Mail], None]:
    """A function that writes a mail into ``folder``; it raises `Unreachable`."""

    def write(mail: Mail) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_whole(folder / _name(mail), mail.message.as_bytes())
        except OSError as error:
            raise Unreachable(f"the mail folder cannot be written: {error.strerror}") from error

    return write


def _name(mail: Mail) -> str:
    # The time first, so that names sort by it. The id, so that a second attempt replaces the first.
    return f"{mail.created_at:%Y%m%dT%H%M%S.%fZ}-{mail.kind}-{mail.id}.eml"


def _write_whole(path: Path, content: bytes) -> None:
    """Write the file so that readers of the folder see all of it or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
