"""What a device asks for, as a request at the authorization endpoint: the same rules hold."""

from typing import NamedTuple

from authsite.oauth import registered
from authsite.oauth.authorization import service
from authsite.oauth.authorization.checks import Checked
from authsite.oauth.authorization.decision import Step, decide
from authsite.oauth.authorization.request import AuthorizationRequest
from authsite.oauth.authorization.service import SignedIn, Visit
from authsite.oauth.authorization_reasons import AnswerTo
from authsite.oauth.codes.service import NewCode
from authsite.oauth.device.errors import expired_user_code
from authsite.oauth.device.waiting import Device
from authsite.platform.context import Context

NOWHERE = AnswerTo("", None)  # the device asks for the answer; no redirect leads to it
ASKED = (Step.CONSENT, Step.ANSWER)  # the person is asked in any case


class AskedFor(NamedTuple):
    """A device that waits, and what it asks for."""

    device: Device
    checked: Checked


def asked_for(ctx: Context, device: Device) -> AskedFor:
    """What the device asks for. Raises `UserCodeRefused` if its client was changed or disabled."""
    client = registered.find(ctx, str(device.client_id))
    if client is None or client.epoch != device.client_epoch:
        raise expired_user_code()
    asked = AuthorizationRequest(
        scope=tuple(device.scope.split()),
        state=None,
        nonce=None,
        code_challenge=None,
        prompt=frozenset(),
        max_age=None,
        acr_values=(),
        id_token_hint=None,
        resource=None,
        provider=None,
        login_hint=None,
    )
    return AskedFor(device, Checked(client, NOWHERE, asked, device.scope, device.audience, None))


def step_of(ctx: Context, asked: AskedFor, who: SignedIn) -> Step:
    """What comes first, of all that is asked of a user at the authorization endpoint."""
    return decide(service.state_of(ctx, asked.checked, Visit(who)))[0]


def code_for(ctx: Context, asked: AskedFor, who: SignedIn) -> NewCode:
    """The code that the user allows. Raises `Refused` if no group of the user gives any of it."""
    return NewCode(
        asked.checked.client,
        who.account,
        who.facts,
        redirect_uri=NOWHERE.redirect_uri,
        code_challenge=None,
        scope=service.held_scope(ctx, asked.checked, who),
        audience=asked.checked.audience,
        nonce=None,
        by_consent=asked.checked.needs_consent,
    )
