"""The settings of *Limits and operations* in ``docs/settings.md``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from authsite.platform.settings import admin_values, urls, values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.secret import Secret, audit_keys, key_in_hex, strong_secret
from authsite.platform.settings.values import CENTURY, Network, duration_or_forever


@dataclass(frozen=True, kw_only=True)
class Operations:
    """Limits and operations."""

    limits: bool = setting(
        values.boolean,
        "on",
        text="`off` switches all limits off, for load measurements.",
    )
    limits_key: Secret | None = setting(
        key_in_hex,
        "",
        secret=True,
        text="The key of the hashes under which names and addresses are counted: 64 hexadecimal"
        " digits. By default it derives from the last `secret`. `authsite secret rotate` writes"
        " this value down, so that no count is lost with the old secret. Usernames that were given"
        " up are kept under it, too: with another key anyone can take them.",
    )
    own_networks: tuple[Network, ...] = setting(
        admin_values.networks,
        "",
        text="List of addresses and networks (`192.0.2.1 10.0.0.0/8`) of your own people, who share"
        " an address: 20 times as many may register, ask for a reset mail and for a code by mail"
        " there. For a [moving day](moving.md#moving-day), and for offices.",
    )
    limits_storage: Secret = setting(
        urls.limits_storage,
        "database",
        secret=True,
        text="Where limits are counted: `database`, `memory` (each process for itself) or"
        " `redis://host:6379/0`. It is a secret since it may contain a password.",
    )
    limit_values: Mapping[str, str]  # from `limits.<name>`, with the defaults filled in
    audit_keep: timedelta | None = setting(
        duration_or_forever(CENTURY),
        "365d",
        text="How long audit events are kept; with `forever` none is deleted.",
    )
    audit_key: tuple[Secret, ...] = setting(
        audit_keys,
        "",
        secret=True,
        text="The key of the [seals](audit.md#verify-it) of the audit trail: 64 hexadecimal"
        " digits. By default it derives from the last `secret`. `authsite secret rotate` writes"
        " this value down, so that the seals still verify. Of several keys, separated by spaces,"
        " the first makes seals, and all verify; one with `@` and a number verifies seals up to"
        " that number only.",
    )
    janitor: bool | None = optional(
        values.boolean,
        text="Whether this process deletes expired rows every hour and seals the audit trail every"
        " minute, unless another process does"
        " ([production.md](production.md#deleting-expired-rows)): `on` or `off`. By default `on`"
        " under `authsite serve`, else `off`.",
    )
    tracing: bool = setting(
        values.boolean,
        "off",
        text="Whether traces are sent to an OpenTelemetry collector, for which the extra"
        " `authsite[opentelemetry]` is needed ([monitoring.md](monitoring.md#traces)).",
    )
    log_requests: bool = setting(
        values.boolean,
        "on",
        text="Whether `authsite serve` logs a line for each request"
        " ([monitoring.md](monitoring.md#the-log)).",
    )
    metrics_token: Secret | None = optional(
        strong_secret,
        secret=True,
        text="The bearer token with which `/metrics` can be read from any address; without it only"
        " processes of the same machine can read it ([monitoring.md](monitoring.md)). At least 32"
        " random bytes.",
    )
