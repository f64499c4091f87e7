"""The settings of *Second factors and passkeys* in ``docs/settings.md``."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from authsite.platform.settings import values
from authsite.platform.settings.definition import optional, setting
from authsite.platform.settings.values import duration


@dataclass(frozen=True, kw_only=True)
class SecondFactors:
    """Second factors and passkeys."""

    factors: tuple[str, ...] = setting(
        values.factors,
        "totp passkey",
        text="Which [second factors](second-factors.md) users can add: a list of `totp`"
        " (authenticator apps) and `passkey`. Those that were added before are still asked for.",
    )
    second_factor: Literal["optional", "required"] = setting(
        values.second_factor,
        "optional",
        text="Whether users must have a second factor: `optional`, or `required`, see"
        " `second-factor-from`. One that a user has added is always asked for.",
    )
    second_factor_from: date | None = optional(
        values.day,
        text="The day (`2027-01-31`, from 00:00 UTC) from which `second-factor = required` holds."
        " Before it, users without a second factor see a notice. By default it holds at once.",
    )
    remember_factor: timedelta = setting(
        duration(timedelta(days=365), zero=True),
        "30d",
        text="How long a browser is not asked for the second factor again, if its user wants that."
        " Such a sign-in has the level `aal1`. `0` for never.",
    )
    passkey_rp_id: str | None = optional(
        values.rp_id,
        text="The domain that [passkeys](passkeys.md) belong to: the host of `base-url`, or a"
        " parent of all its hosts. By default the host of the first `base-url`. With another value"
        " all passkeys of before are lost.",
    )
    passkey_origins: tuple[str, ...] = setting(
        values.list_of(values.passkey_origin),
        "",
        text="List of further origins that may use the passkeys: sites (`https://example.net`),"
        " which are published in `/.well-known/webauthn`, and apps"
        " (`android:apk-key-hash:…`).",
    )
    email_sign_in: bool = setting(
        values.boolean,
        "off",
        text="Whether users can sign in on the pages with a code that is mailed to them: `on` or"
        " `off`.",
    )
    unrecognized_login: Literal["allow", "code"] = setting(
        values.unrecognized_login,
        "allow",
        text="What a right password needs in a browser and from an address that the user has not"
        " signed in with before: nothing (`allow`), or a code that is mailed (`code`), unless the"
        " user has a second factor.",
    )
