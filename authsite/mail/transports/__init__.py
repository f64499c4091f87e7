"""The transports. A new one is a module here and a case in `open_transport`."""

from authsite.settings import Settings

from .transport import LeaseLost, PermanentFailure, TemporaryFailure, Transport, Unreachable

__all__ = [
    "LeaseLost",
    "PermanentFailure",
    "TemporaryFailure",
    "Transport",
    "Unreachable",
    "open_transport",
]


def open_transport(cfg: Settings) -> Transport:
    """The transport of ``mail-driver``; connects to nothing yet."""
    match cfg.mail_driver:
        case "smtp":
            from . import smtp

            return smtp.transport(cfg)
        case "file":
            from . import file

            return file.transport(cfg)
        case "log":
            from . import log

            return log.transport(cfg)
