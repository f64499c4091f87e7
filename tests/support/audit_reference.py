"""The reference of all audit events, from the code: ``python -m tests.support.audit_reference``."""

from pathlib import Path

from authsite.oauth.authorization_reasons import Reason
from authsite.platform.audit.events import Event
from authsite.sign_in.failure_reasons import FailureReason
from authsite.sign_in.methods.passkeys.failures import PasskeyFailure
from authsite.sign_in.methods.provider.failures import AddressDoubt, ProviderFailure
from authsite.sign_in.sessions.csrf import CsrfCause

PAGE = Path(__file__).parents[2] / "docs/audit.md"
BEGIN = "<!-- Generated from the code by `python -m tests.support.audit_reference`. -->\n"


def reference():
    """The generated part of the page."""
    return "\n".join(
        [
            "## The events\n",
            "| event | meaning | details |",
            "|---|---|---|",
            *(f"| `{event}` | {event.meaning} | {event.details} |" for event in Event),
            "\n## Why a login failed\n",
            "The detail `reason` of `login.failed`. The response never tells it.\n",
            "| reason | meaning |",
            "|---|---|",
            *(f"| `{reason}` | {reason.meaning} |" for reason in FailureReason),
            "\n## Why an authorization request was refused\n",
            "The detail `reason` of `authorization.refused`. `error` is what the application is",
            "told, unless the reason has a page alone.\n",
            "| reason | error | meaning |",
            "|---|---|---|",
            *(f"| `{each}` | `{each.error}` | {each.meaning} |" for each in sorted(Reason)),
            "\n## Why a provider was refused\n",
            "The detail `reason` of `provider.refused`. The page tells the person what to do, and",
            "the request id for `authsite explain`.\n",
            "| reason | status | meaning |",
            "|---|---|---|",
            *(
                f"| `{reason}` | {reason.status} | {reason.meaning} |"
                for reason in sorted(ProviderFailure)
            ),
            "\n## Why a form was rejected\n",
            "The detail `reason` of `form.cross_origin`. `sent` is the origin that was sent, or",
            "that to which the request came; `expected` is that of `base-url`.\n",
            "| reason | meaning |",
            "|---|---|",
            *(f"| `{cause}` | {cause.meaning} |" for cause in CsrfCause),
            "\n## Why an address has to be proved\n",
            "The detail `reason` of `provider.address_asked`.\n",
            "| reason | meaning |",
            "|---|---|",
            *(f"| `{reason}` | {reason.meaning} |" for reason in sorted(AddressDoubt)),
            "\n## Why a passkey was refused\n",
            "The detail `check` of `passkey.refused`, `login.failed` and `factor.failed`.\n",
            "| check | meaning |",
            "|---|---|",
            *(f"| `{check}` | {check.meaning} |" for check in PasskeyFailure),
            "",
        ]
    )


def page():
    """The whole page, with what is written by hand as it is."""
    return PAGE.read_text("utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
