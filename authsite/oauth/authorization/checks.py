"""Check a request against what is registered: first the client, then the redirect URI, then the
rest (RFC 6749, section 4.1.2.1)."""

from typing import Any, NamedTuple

from authsite.oauth import asked_scopes, resources
from authsite.oauth.authorization_reasons import AnswerTo, Reason, Refused
from authsite.oauth.clients import redirect_uris
from authsite.oauth.clients.registered import RegisteredClient, find, uris_of
from authsite.oauth.clients.self_described import still_allowed
from authsite.oauth.errors import InvalidScope, InvalidTarget
from authsite.oauth.models import REDIRECT, SERVER
from authsite.oauth.oidc import id_tokens
from authsite.oauth.oidc.errors import NotOurIdToken
from authsite.oauth.oidc.keys import ring
from authsite.oauth.tokens.format import kind_of
from authsite.platform.context import Context
from authsite.platform.http.errors import ApiError

from . import request
from .request import OPENID, AuthorizationRequest, Parameters, is_reachable

RS256 = "RS256"
MAX_SHOWN = 500  # characters of a redirect URI on a page


class Checked(NamedTuple):
    """A request that may be answered, to ``answer_to``.

    ``scope``: what the client may have of what it asks for. ``hinted``: the user that
    ``id_token_hint`` names.
    """

    client: RegisteredClient
    answer_to: AnswerTo
    request: AuthorizationRequest
    scope: str
    audience: str | None
    hinted: str | None

    @property
    def needs_consent(self) -> bool:
        """Whether the user has to allow it, and what they allow is stored.

        Not for a client of our own. Nor for one whose administrator answers for its users
        (``no_consent``), as long as it asks for what it may have anyway, its answer goes to a host,
        and it does not ask for the page itself.
        """
        client = self.client
        if client.first_party or not client.no_consent:
            return not client.first_party
        return (
            self.to_program
            or request.CONSENT in self.request.prompt
            or (
                self.audience is not None
                and not resources.is_same(self.audience, client.default_resource or "")
            )
        )

    @property
    def to_program(self) -> bool:
        """Whether the answer goes to a program on the user's computer (RFC 8252, section 7)."""
        return redirect_uris.is_program(self.answer_to.redirect_uri)


def check(ctx: Context, sent: Parameters) -> Checked:
    """The request, if it is right.

    Raises `Refused`; from the redirect URI on it has the ``answer_to`` where the application learns
    of it.
    """
    client = client_of(ctx, sent)
    try:
        redirect_uri = _redirect_uri(ctx, sent, client)
    except Refused as refused:
        refused.client = client
        raise
    answer_to = AnswerTo(redirect_uri, request.state_of(sent), sent.silent)
    try:
        return _rest(ctx, sent, client, answer_to)
    except Refused as refused:
        refused.client, refused.answer_to = client, answer_to
        raise


def client_of(ctx: Context, sent: Parameters) -> RegisteredClient:
    """The client of a request. Raises `Refused`."""
    client_id = sent.once("client_id")
    if client_id is None:
        raise Refused(Reason.CLIENT_MISSING)
    client = find(ctx, client_id)
    if client is None:
        raise Refused(Reason.CLIENT_UNKNOWN, details={"sent": client_id[:MAX_SHOWN]})
    return client


def _redirect_uri(ctx: Context, sent: Parameters, client: RegisteredClient) -> str:
    uri = sent.once("redirect_uri")
    registered = uris_of(ctx, client.id, REDIRECT)
    if uri is None:
        asks_openid = OPENID in (sent.values.get("scope") or client.default_scope).split(" ")
        if len(registered) != 1 or asks_openid:
            expected = "redirect_uri" + (" (the scope is of OpenID)" if asks_openid else "")
            details = {"expected": expected, "registered": str(len(registered))}
            raise Refused(Reason.REDIRECT_URI_MISSING, details=details)
        return registered[0]
    if any(redirect_uris.matches(each, uri, client.type) for each in registered):
        return uri
    # The page shows the ``sent`` one, never the ``nearest``.
    differs = redirect_uris.difference(registered, uri, client.type)
    raise Refused(Reason.REDIRECT_URI_MISMATCH, details={"sent": uri[:MAX_SHOWN], **differs})


def check_without_client(ctx: Context, sent: Parameters) -> None:
    """Check what does not depend on the client, which a document describes that may be unknown.

    Such a client has no secret, no default scope and no default resource. Raises `Refused`.
    """
    asked = request.read(sent, pkce_optional=False, has_secret=False, default_scope="")
    _resource(ctx, asked, None)
    _hinted(ctx, asked.id_token_hint)
    _require_reachable(ctx, asked)


def _rest(ctx: Context, sent: Parameters, client: RegisteredClient, answer_to: AnswerTo) -> Checked:
    asked = request.read(
        sent,
        pkce_optional=client.pkce_optional,
        has_secret=client.type == SERVER,
        default_scope=client.default_scope,
    )
    client_scope = client.scope
    if client.unverified:
        client_scope = still_allowed(ctx.settings, client.type, client_scope)
    resource = _resource(ctx, asked, client.default_resource)
    try:
        scope = asked_scopes.of_sign_in(ctx.settings, asked.scope, client_scope, resource)
    except InvalidScope as error:
        raise Refused(Reason.SCOPE, details=dict(error.shown)) from None
    audience = resource.uri if resource else None
    hinted = _hinted(ctx, asked.id_token_hint)
    _require_reachable(ctx, asked)
    return Checked(client, answer_to, asked, scope, audience, hinted)


def _resource(
    ctx: Context, asked: AuthorizationRequest, default: str | None
) -> resources.RegisteredResource | None:
    try:
        return resources.choose(ctx, asked.resource, default)
    except InvalidTarget as error:
        raise Refused(Reason.TARGET, details=dict(error.shown)) from None


def _require_reachable(ctx: Context, asked: AuthorizationRequest) -> None:
    if not is_reachable(asked.acr_values, ctx):
        raise Refused(Reason.ACR_NOT_REACHABLE, details={"sent": " ".join(asked.acr_values)})


def require_key(ctx: Context, checked: Checked) -> None:
    """Raise `Refused` if the ID token of the request could not be signed.

    It is for a page, except with ``prompt=none``.
    """
    if not checked.request.openid:
        return
    try:
        ring.require_signers(ctx, checked.client.id_token_alg or RS256)
    except ApiError:
        refused = Refused(Reason.NO_KEY)
        refused.client = checked.client
        refused.answer_to = checked.answer_to if checked.answer_to.silent else None
        raise refused from None


def _hinted(ctx: Context, hint: str | None) -> str | None:
    if hint is None:
        return None
    try:
        claims: dict[str, Any] = id_tokens.claims_of(ctx, hint)
    except NotOurIdToken:
        raise Refused(Reason.HINT, details={"sent": kind_of(hint)}) from None
    return str(claims.get("sub", ""))
