"""The bodies of errors, as the two kinds of endpoint have them."""

NOTHING_HERE = "There is no such endpoint. Check the path against /v1/openapi.json."


def oauth(error, text):
    """The body of the OAuth endpoints."""
    return {"error": error, "error_description": text, "message": text}


def json_error(code, text):
    """The body of everything else, with one error that stands for the whole request."""
    return {"message": text, "errors": [{"code": code, "field": None, "message": text}]}


def no_store(answer):
    """Every error of the token endpoint, and everything near a credential, is not kept."""
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Pragma"] == "no-cache"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-Id"]
    return answer
