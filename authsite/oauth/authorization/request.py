"""Read an authorization request: RFC 6749, section 4.1.1; OpenID Connect Core 1.0, section 3.1.2.1;
RFC 7636; RFC 8707.

Pure functions of plain values. Nothing here knows a client but for what it is told of one.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from authsite.oauth.authorization_reasons import Reason, Refused
from authsite.platform.context import Context
from authsite.sign_in.factors.policy import PASSKEY, RECOVERY_CODE, TOTP
from authsite.sign_in.method import METHODS
from authsite.sign_in.methods.passkeys.registration import can_add
from authsite.sign_in.methods.totp.enrollment import is_offered
from authsite.users.account import LEVELS, PASSWORD, acr_of, reaches

MAX_REQUEST = 8 * 1024  # characters of the encoded parameters
MAX_PARAMETERS = 100
MAX_STATE, MAX_NONCE, MAX_URI = 2048, 512, 2048  # characters
MAX_SCOPE, MAX_HINT, MAX_LOGIN_HINT = 1024, 8 * 1024, 254
MAX_LANGUAGES, MAX_TAG = 20, 64  # languages of ``ui_locales``, and characters of one
OPENID = "openid"

NONE, LOGIN, CONSENT = "none", "login", "consent"
SELECT_ACCOUNT, CREATE = "select_account", "create"
PROMPTS = frozenset({NONE, LOGIN, CONSENT, SELECT_ACCOUNT, CREATE})
KNOWN = (
    *("client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce"),
    *("code_challenge", "code_challenge_method", "prompt", "max_age", "acr_values", "login_hint"),
    *("ui_locales", "id_token_hint", "resource", "provider", "request", "request_uri"),
)
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_MAX_AGE = re.compile(r"[0-9]{1,16}")
_LARGEST = 2**53  # of a number in JSON that every program reads alike (RFC 8259, section 6)
_ANY_AGE = 10**9  # seconds, 31 years: no sign-in is older
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_PRINTABLE = re.compile(r"[^\x00-\x1f\x7f]*")


class Parameters(NamedTuple):
    """What was sent, of the parameters that are known here; an empty value counts as none.

    ``query``: all of it, encoded again. ``repeated``: names that are there more than once.
    """

    query: str
    values: Mapping[str, str]
    repeated: frozenset[str]

    @property
    def too_long(self) -> bool:
        """Whether the whole is longer than a request may be."""
        return len(self.query) > MAX_REQUEST

    @property
    def silent(self) -> bool:
        """Whether ``prompt`` has `NONE`, as far as it can be read."""
        return NONE in self.values.get("prompt", "").split() and "prompt" not in self.repeated

    def once(self, name: str) -> str | None:
        """The value of a parameter, or None. Raises `Refused` if it is there more than once."""
        if name in self.repeated:
            raise Refused(Reason.REPEATED, name)
        return self.values.get(name)

    def words(self, name: str) -> tuple[str, ...]:
        """The words of a parameter that is a list with blanks between them, each once."""
        return tuple(dict.fromkeys((self.once(name) or "").split()))


class AuthorizationRequest(NamedTuple):
    """A valid request, but for what depends on the client, the user and the database.

    ``prompt``: its known values. ``max_age``: seconds.
    """

    scope: tuple[str, ...]
    state: str | None
    nonce: str | None
    code_challenge: str | None
    prompt: frozenset[str]
    max_age: int | None
    acr_values: tuple[str, ...]
    id_token_hint: str | None
    resource: str | None
    provider: str | None
    login_hint: str | None

    @property
    def openid(self) -> bool:
        """Whether it is one of OpenID Connect, not of OAuth alone."""
        return OPENID in self.scope

    @property
    def silent(self) -> bool:
        """Whether no page may be shown."""
        return NONE in self.prompt


def pairs_of(encoded: bytes) -> list[tuple[str, str]]:
    """The names and values of a query or form. Raises `Refused`."""
    try:
        return parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise Refused(Reason.MALFORMED) from None


def parameters(pairs: Iterable[tuple[str, str]]) -> Parameters:
    """What the names and values say."""
    values: dict[str, str] = {}
    seen: set[str] = set()
    repeated: set[str] = set()
    pairs = list(pairs)
    for name, value in pairs:
        if name not in KNOWN:
            continue
        if name in seen:
            repeated.add(name)
        seen.add(name)
        if value:
            values[name] = value
    return Parameters(urlencode(pairs), values, frozenset(repeated))


def state_of(sent: Parameters) -> str | None:
    """The ``state`` that goes into each answer; None if it is none that may."""
    state = sent.values.get("state")
    if state is None or "state" in sent.repeated or not _fits(state, MAX_STATE):
        return None
    return state


def read(
    sent: Parameters, *, pkce_optional: bool, has_secret: bool, default_scope: str
) -> AuthorizationRequest:
    """The request, once the client and the redirect URI are right. Raises `Refused`.

    ``default_scope``: of the client, in place of none. ``has_secret``: whether an administrator may
    make PKCE optional for the client.
    """
    if sent.too_long:
        length = f"{len(sent.query)} characters"
        raise Refused(
            Reason.TOO_LONG, details={"sent": length, "expected": f"at most {MAX_REQUEST}"}
        )
    for name in KNOWN:
        sent.once(name)
    if "request" in sent.values:
        raise Refused(Reason.REQUEST_OBJECT)
    if "request_uri" in sent.values:
        raise Refused(Reason.REQUEST_URI)
    _check_response(sent.once("response_type"), sent.once("response_mode"))
    state = _limited(sent, "state", MAX_STATE)
    scope = _scope(sent) or tuple(default_scope.split())
    return AuthorizationRequest(
        scope=scope,
        state=state,
        nonce=_limited(sent, "nonce", MAX_NONCE) if OPENID in scope else None,
        code_challenge=_challenge(sent, optional=pkce_optional, has_secret=has_secret),
        prompt=_prompt(sent.words("prompt")),
        max_age=max_age(sent),
        acr_values=sent.words("acr_values"),
        id_token_hint=_limited(sent, "id_token_hint", MAX_HINT),
        resource=_limited(sent, "resource", MAX_URI),
        provider=sent.once("provider"),
        login_hint=login_hint(sent),
    )


def login_hint(sent: Parameters) -> str | None:
    """The name to fill into the login page; one that cannot be a login name is ignored."""
    hint = sent.values.get("login_hint")
    return hint if hint and _fits(hint, MAX_LOGIN_HINT) else None


def language(sent: Parameters, offered: Collection[str]) -> str | None:
    """The first of ``ui_locales`` that is ``offered``, by the lookup of RFC 4647, section 3.4."""
    by_tag = {each.replace("_", "-").lower(): each for each in offered}
    for wanted in (sent.values.get("ui_locales") or "").split()[:MAX_LANGUAGES]:
        words = wanted.lower().split("-") if len(wanted) <= MAX_TAG else []
        while words:
            if found := by_tag.get("-".join(words)):
                return found
            words.pop()
    return None


def _check_response(response_type: str | None, response_mode: str | None) -> None:
    if response_type is None:
        raise Refused(Reason.RESPONSE_TYPE_MISSING)
    if response_type != "code":
        raise Refused(Reason.RESPONSE_TYPE, details={"sent": response_type, "expected": "code"})
    if response_mode not in (None, "query"):
        details = {"sent": response_mode, "expected": "query, or none"}
        raise Refused(Reason.RESPONSE_MODE, details=details)


def _scope(sent: Parameters) -> tuple[str, ...]:
    text = _limited(sent, "scope", MAX_SCOPE) or ""
    scope = tuple(dict.fromkeys(each for each in text.split(" ") if each))
    if not all(map(_SCOPE.fullmatch, scope)):
        raise malformed("scope", "names with blanks between them, without quotes", text)
    return scope


def _challenge(sent: Parameters, *, optional: bool, has_secret: bool) -> str | None:
    challenge, method = sent.once("code_challenge"), sent.once("code_challenge_method")
    if challenge is None:
        # A method alone is a challenge that was lost on the way, or removed (RFC 9700, 4.8.2).
        if method is not None:
            details = {"sent": f"code_challenge_method={method} alone"}
            raise Refused(Reason.CHALLENGE_LOST, details=details)
        if not optional:
            reason = Reason.CHALLENGE_MISSING if has_secret else Reason.CHALLENGE_MISSING_PUBLIC
            raise Refused(reason, details={"expected": "code_challenge"})
        return None
    if method != "S256":
        details = {"sent": method or "none", "expected": "S256"}
        raise Refused(Reason.CHALLENGE_METHOD, details=details)
    if not _CHALLENGE.fullmatch(challenge):
        # Software that sends the verifier itself as the challenge must not have it in our log.
        details = {"sent": f"{len(challenge)} characters", "expected": "43 of base64url, no ="}
        raise Refused(Reason.CHALLENGE, details=details)
    return challenge


def _prompt(words: tuple[str, ...]) -> frozenset[str]:
    if NONE in words and len(words) > 1:
        raise Refused(Reason.PROMPT_NONE, details={"sent": " ".join(words), "expected": NONE})
    return PROMPTS.intersection(words)


def max_age(sent: Parameters) -> int | None:
    """How old the proof of who the user is may be, in seconds; None if it does not matter.

    Raises `Refused`.
    """
    text = sent.once("max_age")
    if text is None:
        return None
    if not _MAX_AGE.fullmatch(text) or int(text) > _LARGEST:
        raise malformed("max_age", "a number of seconds", text[:100])
    return min(int(text), _ANY_AGE)


def _limited(sent: Parameters, name: str, most: int) -> str | None:
    value = sent.once(name)
    if value is None or _fits(value, most):
        return value
    length = f"{len(value)} characters"
    if len(value) > most:
        details = {"sent": length, "expected": f"at most {most} characters"}
        raise Refused(Reason.VALUE_TOO_LONG, name, details)
    raise malformed(name, "text without control characters", length)


def malformed(name: str, expected: str, sent: str) -> Refused:
    """The error of a parameter whose value is malformed; ``sent`` must not be a secret."""
    return Refused(Reason.INVALID_VALUE, name, {"sent": sent, "expected": expected})


def _fits(value: str, most: int) -> bool:
    return len(value) <= most and _PRINTABLE.fullmatch(value) is not None


# The levels that ``acr_values`` can ask for, and which ways to sign in give them.


def wanted(acr_values: Iterable[str]) -> str:
    """The lowest of the known levels, which is enough; the lowest of all if none is known."""
    known = [LEVELS.index(each) for each in acr_values if each in LEVELS]
    return LEVELS[min(known, default=0)]


def is_enough(amr: tuple[str, ...], acr_values: Iterable[str]) -> bool:
    """Whether a sign-in has the level that is asked for."""
    return reaches(acr_of(amr), wanted(acr_values))


def is_reachable(acr_values: Iterable[str], ctx: Context) -> bool:
    """Whether a way to sign in, after a password, gives the level that is asked for.

    Of the second factors only those count that users can add.
    """
    can_be_added = {PASSKEY: can_add(ctx), TOTP: is_offered(ctx), RECOVERY_CODE: False}
    methods = METHODS.of(ctx.services).values()
    usable = [each for each in methods if can_be_added.get(each.name, True)]
    return any(is_enough((*PASSWORD, *method.amr), acr_values) for method in usable)
