"""The settings of *Keys and storage* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import timedelta

from authsite.platform.settings import urls, values
from authsite.platform.settings.definition import required, setting
from authsite.platform.settings.secret import Secret, sealing_keys, strong_secrets
from authsite.platform.settings.values import duration

_MISSING_SECRET = (
    "run `authsite init`, which writes one to the environment file, or put the"
    " output of `authsite secret new` into the variable AUTHSITE_SECRET"
)


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Keys and storage."""

    secret: tuple[Secret, ...] = required(
        strong_secrets,
        _MISSING_SECRET,
        secret=True,
        text="Signs tokens, links and cookies; of several, separated by spaces, the first one"
        " signs, and all verify. At least 32 bytes, and not a sample value; `authsite secret new`"
        " prints one, `authsite init` stores one.",
    )
    secret_next: tuple[Secret, ...] = setting(
        strong_secrets,
        "",
        secret=True,
        text="Verifies already, and does not sign yet; one or several. `authsite secret rotate`"
        " writes it, and makes it the first `secret` when it runs again: [rotating"
        " secrets](operations.md#rotate-the-secret).",
    )
    sealing_key: tuple[Secret, ...] = setting(
        sealing_keys,
        "",
        secret=True,
        text="Seals in the database what must be read again (AES-256-GCM), such as second factors"
        " and signing keys: the first key seals, all open. 64 hexadecimal digits each; `authsite"
        " init` adds one, `authsite secret new --sealing-key` prints one. Without it the key"
        " is derived from `secret`, and every start has a note. It is not part of `secret`, so that"
        " a leaked secret can be replaced at once. See [the sealing"
        " key](operations.md#rotate-the-sealing-key).",
    )
    sealing_key_next: tuple[Secret, ...] = setting(
        sealing_keys,
        "",
        secret=True,
        text="Opens, and does not seal yet. `authsite secret rotate --sealing-key` writes it, and"
        " makes it the first `sealing-key` with `--finish`.",
    )
    database_url: Secret = setting(
        urls.database_url,
        "sqlite:///var/authsite.sqlite",
        secret=True,
        text="The database: `sqlite:///path` or `postgresql://user:password@host/database`;"
        " percent-encode `@`, `:`, `/`, `?`, `#` and `%` in user and password (`%40` for `@`)."
        " Several hosts, as in `postgresql://user:password@first,second:5433/database`: [high"
        " availability](high-availability.md#a-postgresql-that-fails-over).",
    )
    database_read_url: tuple[Secret, ...] = setting(
        urls.read_urls,
        "",
        secret=True,
        text="Standbys of `database-url` on PostgreSQL that guards, forward auth and introspection"
        " may read from, as `postgresql://user:password@host/database` or with several hosts; off"
        " by default. See [scaling](scaling.md#guards-on-standbys).",
    )
    database_read_lag: timedelta = setting(
        duration(timedelta(seconds=60)),
        "1s",
        text="How old may be at most what a standby of `database-read-url` shows; if it is older,"
        " the primary is asked. A revocation takes effect at the latest after this time. `1s` to"
        " `60s`.",
    )
    production: bool = setting(
        values.boolean,
        "false",
        text="If true, authsite does not start without `base-url`, with the mail driver `log`,"
        " with an SMTP password that would be sent to another host without TLS, or with plain"
        " `http` in `base-url`, the pages that links in mails lead to, `login-page-url`,"
        " `return-origins`, `cors-origins` or `password-breach-check` (`http` on `localhost` is"
        " allowed).",
    )
