"""What ``authsite doctor`` reports: findings, and the texts of their lines."""

from collections.abc import Collection, Iterator, Mapping

from authsite.platform.finding import Finding
from authsite.platform.settings import Settings
from authsite.platform.settings.files import exposed, folder_errors, private_paths
from authsite.platform.settings.sources import unknown_variables
from authsite.platform.settings.unsafe_choices import RULES

_CLOCK = (
    "this machine's clock is {seconds} s {direction} the database's: synchronize both (NTP), since "
    "links and tokens expire by them"
)

# The state and the message of each line, except those of `RULES`.
LINES: Mapping[str, tuple[str, str]] = {
    "settings-understood": ("ok", "{path} and the environment are understood"),
    "settings-wrong": ("wrong", "{error}"),
    "variable-unknown": ("wrong", "is not a setting and is ignored: check its spelling"),
    "file-private": ("ok", "only its owner can read it"),
    "file-exposed": ("wrong", "{advice}"),
    "application-wrong": ("wrong", "it does not start: {error}"),
    "schema-missing": ("wrong", "there is no schema: run `authsite init` or `authsite db upgrade`"),
    "schema-behind": (
        "wrong",
        "the schema is at {current}, the code needs {head}: run `authsite db upgrade`",
    ),
    "schema-unreleased": ("wrong", "{error}"),
    "schema-current": ("ok", "reachable, schema at {current}"),
    "schema-newer": (
        "ok",
        "reachable, schema at {current}, newer than this version ({head}), which works with it",
    ),
    "upgrade-unfinished": (
        "change",
        "the schema was upgraded from {former}, and processes of the former version may still run, "
        "so new features are not open yet: when every process has the new version, run "
        "`authsite db upgrade --finish`",
    ),
    "features-unknown": ("wrong", "{error}"),
    "database-unusable": ("wrong", "not usable: {cause}"),
    "database-superuser": ("change", "{advice}"),
    "database-untimed": (
        "change",
        "statements have no time limit, since a pooler does not pass on ours: give the role its "
        "timeouts (docs/high-availability.md, PgBouncer)",
    ),
    "database-not-writable": (
        "wrong",
        "it reads, but does not write: {cause}. Make room on its disk, or connect to the primary",
    ),
    "clock-even": ("ok", "this machine's clock is {seconds} s {direction} the database's"),
    "clock-uneven": ("change", _CLOCK),
    "clock-off": ("wrong", _CLOCK),
    "audit-changed": (
        "wrong",
        "old events are not deleted, since seal {seal} does not verify ({text}): run `authsite "
        "audit verify` (docs/audit.md)",
    ),
    "audit-late": (
        "wrong",
        "seal {seal}{more} was made over an hour after its events: seals may have been deleted and "
        "made again. `authsite audit verify` says which events, `authsite audit accept-late` "
        "accepts it if no process sealed for so long (docs/audit.md)",
    ),
    "audit-key-lost": (
        "change",
        "is empty, so that seals of the audit trail do not verify after the oldest secret is "
        "removed: rotate with `authsite secret rotate`, which writes it (docs/operations.md)",
    ),
    "secret-other": ("wrong", "{error}"),
    "client-none": ("wrong", "no proxy client is set: run `authsite init`"),
    "client-unknown": (
        "wrong",
        "the database has no enabled client with this id and secret: make one with "
        "`authsite client create --type password`, or rotate its secret",
    ),
    "client-good": ("ok", "the proxy's credentials are valid"),
    "client-type": ("wrong", "the client is of type {type}, not password"),
    "client-admin-scope": (
        "change",
        "the client {client} ({id}) has scopes of administrators: {scopes}. No user's token gets "
        "them: if users are to administer with it, add it to the setting admin-clients; else leave "
        "them out with `authsite client update {id} --scope {rest} --default-scope {default}`, "
        "which ends its tokens",
    ),
    "client-cleartext": (
        "change",
        "people return to the client {client} ({id}) over http, at {uris}: whoever can read that "
        "network can read the codes there. Give the application TLS when you can{more}",
    ),
    "registration-unconfirmed": (
        "change",
        "users without a confirmed e-mail address: {count}. With domains they can do nothing until "
        "they open the link in our mail (`authsite user confirm` confirms one of them)",
    ),
    "registration-other-domains": (
        "change",
        "users with an e-mail address of another domain: {count}. They go on as before "
        "(`authsite user disable` ends one of them)",
    ),
    "scope-older-tokens": (
        "change",
        "{scope} is for groups, and tokens carry it that were issued before, to users in none of "
        "them: {count}. They go on until `authsite token revoke --scope {scope}`, which ends all "
        "tokens with this scope",
    ),
    "provider-redirect": ("note", "the redirect URI to register at the provider: {uri}"),
    "provider-address": (
        "change",
        "set base-url, with which the redirect URI to register at the provider begins: {uri}",
    ),
    "provider-answers": ("ok", "its discovery document is usable, and it has keys: {count}"),
    "provider-unusable": (
        "wrong",
        "users cannot sign in with it: {cause}. Check its issuer ({issuer}), and that this machine "
        "reaches it",
    ),
    "provider-edov": (
        "note",
        "with domains each sign-in needs an address that Entra calls verified: add the optional "
        "claims email and xms_edov to its registration (docs/sign-in-entra.md), else each sign-in "
        "asks for a mailed link",
    ),
    "openid-on": ("ok", "applications can sign people in here; the issuer is {issuer}"),
    "openid-off": ("note", "applications cannot sign people in here: {obstacle} (docs/openid.md)"),
    "openid-set-off": ("ok", "applications cannot sign people in here: it is set to off"),
    "openid-included": (
        "ok",
        "applications cannot sign people in here: by default it is off in an application that "
        "includes authsite",
    ),
    "passkeys-foreign": (
        "wrong",
        "{count} passkeys belong to {found} and cannot be used: their users need another way to "
        "sign in, or set passkey-rp-id to that domain again",
    ),
    "passkeys-off": ("note", "there are no passkeys: {obstacle}"),
    "passkeys-on": ("ok", "passkeys of {rp_id}: {count}"),
    "signing-keys-none": (
        "ok",
        "there are no keys for ID tokens yet: the service makes them when it starts",
    ),
    "signing-key-signs": ("ok", "the key {kid} signs since {at}"),
    "signing-key-overdue": (
        "change",
        "the key {kid} signs since {at}, longer than signing-key-rotation: a process with janitor "
        "on rotates the keys, or `authsite keys rotate`",
    ),
    "signing-key-unusable": (
        "wrong",
        "no sealing-key opens the {state} key {kid}, so applications cannot sign people in: set "
        "the sealing-key that sealed it, or replace it with `authsite keys rotate --now`",
    ),
    "key-fine": ("ok", "ready for production"),
}


def line(name: str, subject: str, **values: object) -> Finding:
    """The finding with this name in `LINES`; ``values`` fill in its message."""
    state, message = LINES[name]
    return Finding(state, subject, message.format(**values))


# The checks of ``authsite doctor`` that read the settings, and the files that have them.


# The levels (and names) of rules that are an error if they are broken.
LENIENT = ("start",)
STRICT = ("start", "refused", "required", "production-off", "sealing-key-unset")


def file_findings(
    cfg: Settings, ini: Mapping[str, object], variables: Mapping[str, str]
) -> Iterator[Finding]:
    """Variables that authsite does not know, files that others may read, folders."""
    for name in unknown_variables(variables):
        yield line("variable-unknown", name)
    for file in private_paths(cfg, ini, variables):
        if advice := exposed(file):
            yield line("file-exposed", str(file), advice=advice)
        elif file.exists():
            yield line("file-private", str(file))
    for invalid in folder_errors(cfg):
        yield Finding("wrong", invalid.key, f"{invalid.value}: {invalid.message}")


def rule_findings(cfg: Settings, wrong: Collection[str]) -> Iterator[Finding]:
    """The unsafe choices; those with a level or name in ``wrong`` are errors."""
    broken = [(rule, advice) for rule in RULES if (advice := rule.broken_by(cfg))]
    for rule, advice in broken:
        state = "wrong" if {rule.level, rule.name}.intersection(wrong) else "change"
        yield Finding(state, rule.subject, advice)
    unsafe = {rule.subject for rule, _ in broken}
    for subject in dict.fromkeys(rule.subject for rule in RULES):
        if subject not in unsafe:
            yield line("key-fine", subject)
