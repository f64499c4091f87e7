"""The WSGI environ (PEP 3333) of an ASGI request."""

import sys
from typing import Any
from urllib.parse import unquote_to_bytes

_BASE: dict[str, Any] = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "Granian",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": False,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}
_PROTOCOLS = {"1": "HTTP/1.0", "1.0": "HTTP/1.0", "2": "HTTP/2.0"}
_NAMES: dict[bytes, str] = {
    b"content-type": "CONTENT_TYPE",
    b"content-length": "CONTENT_LENGTH",
    b"host": "HTTP_HOST",
    b"authorization": "HTTP_AUTHORIZATION",
}


def environ_of(scope: dict[str, Any]) -> dict[str, Any]:
    """The environ of the request ``scope``, still without ``wsgi.input``.

    It does not contain the environment of the process, which holds our secrets. Header values are
    decoded as ISO-8859-1, so no byte is lost. Header names with an underscore are left out: WSGI
    cannot distinguish ``X_Forwarded_For`` from ``X-Forwarded-For``, so a client could override what
    the proxy sent.
    """
    environ = _BASE.copy()
    environ["SERVER_PROTOCOL"] = _PROTOCOLS.get(scope["http_version"], "HTTP/1.1")
    environ["SERVER_NAME"], port = scope["server"]
    environ["SERVER_PORT"] = str(port)
    environ["REMOTE_ADDR"] = scope["client"][0]
    environ["REQUEST_METHOD"] = scope["method"]
    environ["PATH_INFO"] = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
    environ["QUERY_STRING"] = scope["query_string"].decode("latin-1")
    environ["wsgi.url_scheme"] = scope["scheme"]
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = _NAMES.get(name) or "HTTP_" + name.upper().replace(b"-", b"_").decode("latin-1")
        text = value.decode("latin-1")
        if key in environ:  # RFC 9110, section 5.3; for cookies RFC 9113, section 8.2.3
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    return environ
