"""The driver ``file``: one .eml for each mail in ``mail-folder``, for its owner's eyes only."""

import os
from pathlib import Path

from authsite.mail.message import Mail
from authsite.settings import Settings

from .transport import LastWord, Transport, Unreachable


def transport(cfg: Settings) -> Transport:
    """Writes into ``mail-folder``, which is made when it is not there."""
    folder = Path(cfg.mail_folder)

    def write(mail: Mail, last_word: LastWord) -> None:
        last_word()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_whole(folder / _name(mail), mail.message.as_bytes())
        except OSError as error:
            raise Unreachable(f"the mail folder cannot be written: {error.strerror}") from error

    return write


def _name(mail: Mail) -> str:
    # The time first: a sorted listing is in order. The id: a second attempt replaces the first.
    return f"{mail.created_at:%Y%m%dT%H%M%S.%fZ}-{mail.letter}-{mail.id}.eml"


def _write_whole(path: Path, content: bytes) -> None:
    """A reader of the folder sees the whole file or none."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
