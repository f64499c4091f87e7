"""The OpenAPI document for tests: its operations, and whether a response fits."""

from pathlib import Path

from jsonschema import Draft202012Validator

# It lists the headers that every response has.
RULES = (Path(__file__).parents[2] / "docs/api.md").read_text("utf-8")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class Described:
    """The document that a site serves."""

    def __init__(self, site):
        self.document = site.http.get("/v1/openapi.json").json

    def operations(self):
        """``(method, path, operation)`` of each."""
        return [
            (method.upper(), path, item[method])
            for path, item in self.document["paths"].items()
            for method in METHODS
            if method in item
        ]

    def operation(self, method, path):
        """The operation; of two paths that differ by a slash at the end, the document has one."""
        paths = self.document["paths"]
        return (paths.get(path) or paths[f"{path}/"])[method.lower()]

    def errors(self, schema, value):
        """The messages of the errors of ``value`` against a schema of the document."""
        rooted = {**schema, "components": self.document["components"]}
        return [error.message for error in Draft202012Validator(rooted).iter_errors(value)]

    def _headers_fit(self, answer, response):
        described = {
            name: self.document["components"]["headers"][name] if "$ref" in header else header
            for name, header in response["headers"].items()
        }
        for name, header in described.items():
            assert name in answer.headers or not header["required"], f"{name} is missing"
            if header["schema"]["type"] == "integer" and name in answer.headers:
                assert answer.headers[name].isdecimal(), name
        for name, value in answer.headers.items():
            if "$ref" in response["headers"].get(name, ()) and name != "X-Request-Id":
                assert value == described[name]["example"], name
            assert name in described or f"`{name}`" in RULES, f"{name} is not announced"

    def fits(self, answer, method, path):
        """Assert that ``answer`` is one that the operation announces; it is returned."""
        responses = self.operation(method, path)["responses"]
        assert str(answer.status_int) in responses, f"{answer.status_int} is not announced"
        response = responses[str(answer.status_int)]
        self._headers_fit(answer, response)
        if "content" not in response:
            assert not answer.body, answer.body
            return answer
        [(kind, media)] = response["content"].items()
        assert answer.content_type == kind
        value = answer.json if kind == "application/json" else answer.text
        assert self.errors(media["schema"], value) == []
        return answer
