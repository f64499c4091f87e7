"""The settings of *Mail* in ``docs/settings.md``."""

from dataclasses import dataclass
from typing import Literal

from authsite.platform.settings import urls, values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.secret import Secret


@dataclass(frozen=True, kw_only=True)
class Mail:
    """Mail."""

    new_device_notices: bool = setting(
        values.boolean,
        "on",
        text="Whether a user with a confirmed address gets a mail about a sign-in from a new"
        " device ([mail.md](mail.md#notices)).",
    )
    mail_driver: Literal["log", "smtp", "file"] = setting(
        values.mail_driver,
        "log",
        text="How mails are sent: `smtp`, `file` (one `.eml` for each mail) or `log` (the whole"
        " mail into the log). With `smtp` authsite does not start without `base-url`.",
    )
    # `load` replaces localhost by the host of base-url.
    mail_from: str = setting(
        values.mail_address,
        "no-reply@localhost",
        text="Sender: `noreply@example.org` or `My site <noreply@example.org>`; quotes around the"
        " name are optional. The default has the host of `base-url`, if that is a name.",
    )
    smtp_url: Secret = setting(
        urls.smtp_url,
        "smtp://localhost:25",
        secret=True,
        text="The mail server of the driver `smtp`: `smtp://user:password@host:port` or"
        " `smtps://…`; `?starttls=1` requires TLS. A password is only sent over TLS with a"
        " certificate that is verified, or to this machine ([mail.md](mail.md#sending))."
        " Percent-encode `@`, `:`, `/`, `?`, `#` and `%` in user and password.",
    )
    smtp_helo: str | None = optional(
        urls.smtp_helo,
        text="The name with which authsite greets the mail server: a host name that the DNS knows,"
        " or an address in brackets. By default the host of `base-url`.",
    )
    mail_folder: str = setting(
        values.printable(1024),
        "var/mail",
        text="Folder of the driver `file`.",
    )
    mail_sender: Literal["thread", "none"] | None = optional(
        values.mail_sender,
        text="Whether this process sends the mails: `thread` (it does) or `none`. By default"
        " `thread` under `authsite serve`, else `none`.",
    )
    mail_log_in_production: bool = setting(
        values.boolean,
        "false",
        text="If true, `log` is allowed in production. Mails contain links that give access to"
        " accounts.",
    )
