"""The ways a mail can leave. A new one is a module here and a line in `_open`."""

from authsite.settings import Settings

from .transport import LeaseLost, NotNow, Refused, Transport, Unreachable

__all__ = ["LeaseLost", "NotNow", "Refused", "Transport", "Unreachable", "open_transport"]


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
