"""Open the transport of the settings."""

from pathlib import Path

from authsite.platform.settings import Settings

from . import Transport


def open_transport(cfg: Settings, copies: Path | None = None) -> Transport:
    """The transport of ``mail-driver``; connects to nothing yet.

    ``copies``: the folder in which the driver ``log`` keeps the latest mails.
    """
    match cfg.mail_driver:
        case "smtp":
            from . import smtp

            return smtp.transport(cfg)
        case "file":
            from . import file

            return file.transport(cfg)
        case "log":
            from . import log

            return log.transport(copies)
