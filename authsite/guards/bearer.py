"""The api guard: a bearer token in the Authorization header (RFC 6750, section 2.1)."""

import re
from collections.abc import Sequence
from datetime import datetime

from authsite.oauth import active, active_personal_tokens
from authsite.oauth.active import ActiveToken
from authsite.oauth.active_personal_tokens import ActivePersonalToken
from authsite.oauth.oidc import access_tokens
from authsite.oauth.tokens import PersonalTokenValues, Token, kind_of
from authsite.platform.context import Services
from authsite.platform.db.prepared import Reader
from authsite.platform.db.standbys import Reading
from authsite.platform.request_state import Request
from authsite.platform.runtime import clock
from authsite.sign_in.facts import unpack
from authsite.users.caller import Caller
from authsite.users.levels import proved_at

from .errors import NotAuthenticated
from .reasons import GuardReason

# Registered with the IANA, and others that are common. What else is in front may be a secret.
_SCHEMES = frozenset(
    ("apikey", "basic", "bearer", "digest", "dpop", "jwt", "negotiate", "ntlm", "oauth", "token")
)
_BEARER = re.compile(r"bearer(?: ++|$)(.{0,4096})", re.IGNORECASE)


def api_guard(request: Request) -> Caller:
    """The caller that the request's token belongs to.

    A forged or expired token is rejected without a query. For any other there is one query, of the
    table that the text of the token names. Raises `NotAuthenticated`.
    """
    sent: str = request.environ.get("HTTP_AUTHORIZATION", "")
    header = _BEARER.fullmatch(sent)
    if header is None:
        raise NotAuthenticated(
            token_sent=is_sent(request),
            why=GuardReason.NO_TOKEN,
            sent=_kind_of_header(sent) if sent else None,
        )
    now, services = clock.now(), request.authsite.services
    token = access_tokens.decode_any(services, header[1], now)
    if token is None:
        looks = kind_of(header[1])
        raise NotAuthenticated(token_sent=True, why=GuardReason.NOT_VALID, sent=looks)
    caller = _find(services, services.database, token, now)
    if caller is None:
        raise NotAuthenticated(token_sent=True, why=GuardReason.NOT_ACTIVE)
    return caller


def _kind_of_header(sent: str) -> str:
    """What another header looks like, for operators: it may be a token without its scheme."""
    scheme = sent.partition(" ")[0]
    return f"the scheme {scheme}" if scheme.lower() in _SCHEMES else kind_of(sent)


def is_sent(request: Request) -> bool:
    """Whether the header Authorization is for this guard, also if its token is not valid."""
    sent: str = request.environ.get("HTTP_AUTHORIZATION", "")
    return sent[:6].lower() == "bearer"


def find_by_standby(request: Request, reading: Reading) -> Caller | None:
    """The caller as a standby shows it; None for whatever `api_guard` has to decide."""
    header = _BEARER.fullmatch(request.environ.get("HTTP_AUTHORIZATION", ""))
    now, services = clock.now(), request.authsite.services
    token = access_tokens.decode_any(services, header[1], now) if header else None
    return _find(services, reading, token, now) if token else None


def _find(
    services: Services, reader: Reader, token: Token | PersonalTokenValues, now: datetime
) -> Caller | None:
    if isinstance(token, PersonalTokenValues):
        found = active_personal_tokens.find_active(reader, token)
        return found and _of_personal(services, token, found, now)
    family = active.find_active(reader, token, now, services.settings.refresh_grace)
    return family and _of_family(services, token, family, now)


def read_together(services: Services, callers: Sequence[Caller]) -> list[Caller | None]:
    """The callers as the database has them now; None for a token that is no longer active."""
    now, grace = clock.now(), services.settings.refresh_grace
    of_families = [each.token.family_id for each in callers if isinstance(each.token, Token)]
    personal = [each.token.id for each in callers if isinstance(each.token, PersonalTokenValues)]
    families = active.find_together(services.database, of_families) if of_families else {}
    rows = active_personal_tokens.find_together(services.database, personal) if personal else {}

    def again(token: object) -> Caller | None:
        if isinstance(token, PersonalTokenValues):
            found = rows.get(token.id)
            return found and _of_personal(services, token, found, now)
        if not isinstance(token, Token):
            return None
        family = families.get(token.family_id)
        if family is None or not active.is_current(token, family, now, grace):
            return None
        return _of_family(services, token, family, now)

    return [again(each.token) for each in callers]


def credential(request: Request) -> str | None:
    """The Authorization header, or None."""
    return request.environ.get("HTTP_AUTHORIZATION")


def _of_family(services: Services, token: Token, family: ActiveToken, now: datetime) -> Caller:
    active.note_use(services.last_used, token, family, now)
    facts = unpack(family.facts)
    of_login = family.account is not None
    return Caller(
        guard="api",
        account=family.account,
        scope=tuple(family.scope.split()),
        token=token,
        family_uuid=token.family_id,
        personal_token=False,
        client_uuid=family.client_id,
        client_url=facts.client,
        client_name=family.client_name,
        proved_by=facts.amr if of_login else (),
        auth_at=proved_at(facts.amr, family.auth_at) if of_login else None,
        third_party=facts.third_party,
        audience=facts.audience,
        expires=token.expires,
        login_names=services.settings.login_identifiers,
        admin_acr=services.settings.admin_acr,
    )


def _of_personal(
    services: Services, token: PersonalTokenValues, found: ActivePersonalToken, now: datetime
) -> Caller:
    active_personal_tokens.note_use(services.last_used, token, now)
    return Caller(
        guard="api",
        account=found.account,
        scope=tuple(found.scope.split()),
        token=token,
        personal_token=True,
        expires=token.expires,
        login_names=services.settings.login_identifiers,
        admin_acr=services.settings.admin_acr,
    )
