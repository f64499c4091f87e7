"""The WSGI environ (PEP 3333) of a request that Granian's RSGI hands over.

The same as Granian's own WSGI interface builds, so that what the application sees does not depend
on who read the body; but without the environment of the process, which holds our secrets.
"""

import sys
from typing import Any

_KEYS = {
    "content-type": "CONTENT_TYPE",
    "content-length": "CONTENT_LENGTH",
    "host": "HTTP_HOST",
    "authorization": "HTTP_AUTHORIZATION",
}


def base_environ() -> dict[str, Any]:
    """What is the same for every request of a worker."""
    return {
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


def environ_of(base: dict[str, Any], scope: Any, body: Any) -> dict[str, Any]:
    """The environ of the request ``scope`` whose body is read from ``body``."""
    environ = base.copy()
    host, _, port = scope.server.rpartition(":")
    environ["SERVER_PROTOCOL"] = f"HTTP/{scope.http_version}"
    environ["SERVER_NAME"] = host.strip("[]")
    environ["SERVER_PORT"] = port
    environ["REMOTE_ADDR"] = scope.client.rpartition(":")[0].strip("[]")
    environ["REQUEST_METHOD"] = scope.method
    # A path that is no UTF-8 arrives with U+FFFD in it; it stays one that is no UTF-8.
    path = scope.path.encode().replace(b"\xef\xbf\xbd", b"\xff")
    environ["PATH_INFO"] = path.decode("latin-1")
    environ["QUERY_STRING"] = scope.query_string
    environ["wsgi.url_scheme"] = scope.scheme
    environ["wsgi.input"] = body
    environ["HTTP_HOST"] = scope.authority or ""
    headers = scope.headers
    # Not items(): that leaves out a value which is no ASCII. It has to be there, if empty: a
    # missing X-Forwarded-For would let the client's own Forwarded stand (http/proxies.py).
    for name in headers.keys():  # noqa: SIM118  not a dict
        key = _KEYS.get(name) or "HTTP_" + name.upper().replace("-", "_")
        values = headers.get_all(name)
        if len(values) == 1:
            environ[key] = values[0]
        else:
            environ[key] = (";" if name == "cookie" else ",").join(values)
    return environ
