"""The settings of *Administration* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from authsite.platform.settings import admin_values, values
from authsite.platform.settings.definition import setting
from authsite.platform.settings.values import Network, duration


@dataclass(frozen=True, kw_only=True)
class Administration:
    """Administration."""

    admin_console: bool = setting(
        values.boolean,
        "off",
        text="Whether there is the console for administrators at `/admin`: `on` or `off`.",
    )
    admin_api: bool = setting(
        values.boolean,
        "off",
        text="Whether there is the API for administrators below `/v1/admin`: `on` or `off`.",
    )
    admin_acr: Literal["aal2", "phr"] = setting(
        admin_values.level,
        "aal2",
        text="The level that a sign-in of an administrator must have: `aal2`, or `phr` (a passkey),"
        " which is recommended.",
    )
    admin_idle: timedelta = setting(
        duration(timedelta(hours=12)),
        "30m",
        text="How long the console may be idle. Afterwards it asks for all proofs again.",
    )
    admin_networks: tuple[Network, ...] = setting(
        admin_values.networks,
        "",
        text="List of addresses and networks (`10.0.0.0/8`) from which console and API can be"
        " used; others get 404. By default there is no such limit.",
    )
    expose_reserved_groups: bool = setting(
        values.boolean,
        "off",
        text="`on`: the [reserved groups](groups.md#make-an-administrator), which say who"
        " administers this service, are in `groups` of ID tokens, userinfo and introspection, and"
        " in `X-Auth-Groups`; with `off` they are left out there. Guards know them in any case.",
    )
    admin_clients: tuple[str, ...] = setting(
        admin_values.client_ids,
        "",
        text="List of the ids of the clients that may get scopes of administrators"
        " (`admin:users:read`) for a user.",
    )
