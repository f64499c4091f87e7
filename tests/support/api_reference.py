"""The reference of all endpoints, from the API: ``python -m tests.support.api_reference``.

It needs no server: the application is configured, and its document is built.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from authsite import main
from authsite.openapi.document import document
from tests.support.site import SECRET

PAGE = Path(__file__).parents[2] / "docs/api.md"
BEGIN = "<!-- Generated from the code by `python -m tests.support.api_reference`. -->\n"
METHODS = ("get", "post", "put", "patch", "delete")


def documented(variant):
    """The OpenAPI document of a variant."""
    with TemporaryDirectory() as folder:
        settings = {
            "authsite.secret": SECRET,
            "authsite.database-url": f"sqlite:///{folder}/unused.sqlite",
            "authsite.variant": variant,
            "authsite.expires-in": "60m",
            "authsite.refresh-expires-in": "30d",
        }
        app = main({}, **settings)
        app.registry["authsite"].database.dispose()
        return document(app.registry, "http://localhost")


def operations(described):
    """(path, method) -> operation of a document."""
    return {
        (path, method): item[method]
        for path, item in described["paths"].items()
        for method in METHODS
        if method in item
    }


def rows(tag, found, others):
    """The rows of the endpoints with ``tag``; ``others`` are those of variant B alone."""
    for (path, method), operation in found.items():
        if tag in operation["tags"] and "x-alias-of" not in operation:
            paths = [path] + [
                other
                for (other, its_method), same in others.items()
                if its_method == method and same["summary"] == operation["summary"]
            ]
            where = " or ".join(f"`{each}`" for each in paths)
            yield f"| {method.upper()} | {where} | {operation['summary']} | {who(operation)} |"


def who(operation):
    """Who may call it."""
    [scheme] = operation["security"][0] if operation["security"] else ["–"]
    return {"bearer": "access token", "clientBasic": "client"}.get(scheme, "–")


def reference():
    """The generated part of the page."""
    described = documented("A")
    found, in_b = operations(described), operations(documented("B"))
    others = {key: each for key, each in in_b.items() if key not in found}
    parts = []
    for tag in (each["name"] for each in described["tags"]):
        lines = list(rows(tag, found, others))
        parts += [
            f"## {tag}\n",
            "| method | path | what | needs |",
            "|---|---|---|---|",
            *lines,
            "",
        ]
    return "\n".join(parts)


def page():
    """The whole page, with what is written by hand as it is."""
    return PAGE.read_text("utf-8").partition(BEGIN)[0] + BEGIN + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
