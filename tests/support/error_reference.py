"""The reference of all errors, from the code: ``python -m tests.support.error_reference``."""

import ast
import pkgutil
from importlib import import_module
from pathlib import Path

import authsite
from authsite.platform.http.errors import ApiError
from authsite.platform.i18n import translate

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/errors.md"
BEGIN = "<!-- Generated from the code by `python -m tests.support.error_reference`. -->\n"

# What a caller does about an error whose message depends on the request, or is for people.
ADVICE = {
    "Forbidden": "Use another account or another token.",
    "InsufficientScope": "Log in with the scope that the message names.",
    "InvalidClient": "Check the id and the secret. `authsite explain REQUEST_ID` tells the "
    "operator which check failed.",
    "InvalidClientMetadata": "Correct what the description names.",
    "InvalidRedirectUri": "Correct what the description names.",
    "InvalidRequirement": "Correct the parameter that the message names, in the proxy.",
    "LogoutNotValid": "Correct what the page names: the hint, the `client_id` or "
    "the address of the application.",
    "MethodNotAllowed": "Use a method that `Allow` names.",
    "MissingParameter": "Send the parameter that the message names.",
    "MissingProof": "Send the parameter that the message names.",
    "GroupNamed": "Change what names the group first.",
    "NotAuthenticated": "Refresh the tokens or log in again.",
    "NotSignedIn": "Sign in on the login page.",
    "OneIdentifierRequired": "Fill one of the fields that the message names.",
    "PermissionMissing": "Ask an owner for the permission that the message names.",
    "TooManyAttempts": "Wait as many seconds as `Retry-After` says.",
    "UnauthorizedClient": "Use a client of another type ([Concepts](concepts.md#client)).",
    "UnsupportedGrantType": "Use one of the grant types that the message names.",
    "UnsupportedMediaType": "Send the body in a form that the message names.",
    "UserRequired": "Log in as a user, and send that access token.",
    "ValidationFailed": "Correct each field in the list; its codes are below.",
}
FIELDS = {
    "code_used": "the code of the app was used already; the next one is another",
    "email_not_confirmed": "the password is right; the user has to open the link that was mailed",
    "expired": "what was begun before has expired",
    "group_required": "the password is right; an administrator has to add the user to the group",
    "invalid": "the value has a wrong form; the message says which form is right",
    "invalid_credentials": "no such user, a wrong password, or a disabled user (on pages)",
    "invalid_code": "the code of the app, of the mail or for recovery is wrong",
    "invalid_credential": "the passkey was not accepted",
    "invalid_password": "the current password is wrong",
    "invalid_token": "the reset link is wrong, used, expired or for another address",
    "not_allowed": "the value is none of those allowed: a page that the settings do not list, a "
    "scope that the token does not have, a reserved username",
    "required": "the field is missing or empty",
    "taken": "another user has this login name, or a group this name",
    "too_long": "the value is longer than the field may be",
    "unconfirmed": "the account has not confirmed the address, so it may be another person's",
    "unknown": "there is nothing of this name",
    "weak_password": "the password is too short, easy to guess, or known from a data breach",
}


def errors():
    """The classes of errors that a caller can distinguish, in the order of status and code."""
    for module in pkgutil.walk_packages(authsite.__path__, "authsite."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found = [
        each
        for each in descendants(ApiError)
        if {"code", "summary"} & vars(each).keys()
        and each.status >= 400
        # No endpoint answers with these: they are errors of commands.
        and not each.__module__.startswith("authsite.groups.")
    ]
    return sorted(found, key=lambda each: (each.status, each.code, when_of(each)))


def descendants(base):
    """``base``'s subclasses in authsite, and theirs."""
    direct = {each for each in base.__subclasses__() if each.__module__.startswith("authsite.")}
    return direct.union(*(descendants(each) for each in direct))


def row(error):
    """One row: the code, its status, when it occurs, and what to do."""
    if error.__name__ not in ADVICE and error.message is ApiError.message and error.status != 500:
        raise LookupError(f"ADVICE has nothing for {error.__name__}, which has no message")
    advice = ADVICE.get(error.__name__) or translate(error.message)
    return f"| `{error.code}` | {error.status} | {when_of(error)} | {advice} |"


def when_of(error):
    """When an error occurs: its summary in the API document, else its documentation."""
    text = vars(error).get("summary") or (error.__doc__ or "").split("\n\n")[0]
    text = " ".join(text.split("; ``")[0].replace("``", "`").split()).rstrip(".")
    return f"{text}."


def field_codes():
    """The codes of errors about one field, as the code names them."""
    found = set()
    for path in sorted(Path(authsite.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "FieldError":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(first.value)
    return found


def reference():
    """The generated part of the page."""
    rows = [row(error) for error in errors()]
    fields = [f"| `{code}` | {FIELDS[code]} |" for code in sorted(FIELDS)]
    return "\n".join(
        [
            "## Codes of a response\n",
            "| code | status | when | what to do |",
            "|---|---|---|---|",
            *rows,
            "\n## Codes of a field\n",
            "A 422 has one entry for each wrong field, and names all of them at once. First comes",
            "whether the caller may do this (401, 403), and at the administrators' API whether the",
            "object is there (404). At the OAuth and proxy endpoints the entries are in `errors`,",
            "beside `error`.\n",
            "| code | meaning |",
            "|---|---|",
            *fields,
            "",
        ]
    )


def page():
    """The whole page, with what is written by hand as it is."""
    return PAGE.read_text("utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
