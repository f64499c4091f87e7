"""``python child.py FOLDER URL``: one revision, with its checkout and environment.

It fills a database and then measures what it is told to on its standard input, in a batch: a line
``guard`` is answered with the microseconds of processor time of one request. It uses what all
revisions since 96c5177 have: the application, its paths, and their own ``bench/seed.py``. Hashing
passwords takes no time here, since its cost is a setting and not the service's.
"""

import hashlib
import html
import json
import logging
import os
import re
import sys
import time
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

import bcrypt

BATCH = {"login": 60}  # requests of one measurement; a login takes some milliseconds
OTHERS = 300
BASE = "http://localhost"
TOKEN = "/v1/oauth/token"
OF_CODES = "/v1/guard/api?scope=email"  # a third party must have a scope that is named
FORM = "application/x-www-form-urlencoded"
CODES = 100
FAMILIES = 300  # few, so that it begins soon: a table of this size is as slow as a large one


def hashpw(password, salt):
    """As quick as can be, in the form of bcrypt's hashes."""
    digest = hashlib.sha256(salt[:29] + password).digest()
    return salt[:29] + b64encode(digest, b"./")[:31]


def hash_quickly():
    """Replace bcrypt's hash in this process."""
    bcrypt.hashpw = hashpw
    bcrypt.checkpw = lambda password, hashed: hashpw(password, hashed) == hashed


class Site:
    """The application of this revision, and requests to it."""

    def __init__(self, folder, url):
        from bench import seed

        self.folder, self.url, self.secret = folder, url, seed.SECRET
        self.ini = seed.ini(folder, url, base_url=BASE)
        seed.FAMILIES = FAMILIES
        files, _refresh, _keys = seed.fill(folder, url, 0)
        self.tokens = files["access"].read_text().split()
        [self.login] = files["password"].read_text().split()
        self.password = seed.PASSWORD
        self.app = self._application()
        self.cookie = self._signed_in()
        self.of_codes = self._of_codes()

    def _application(self, **more):
        from authsite import main

        settings = {"secret": self.secret, "database-url": self.url, "limits": "off"}
        settings |= {"base-url": BASE, "log-requests": "off", **more}
        return main({}, **{f"authsite.{name}": value for name, value in settings.items()})

    def calls(self):
        """Name -> a function of a number that makes one request; None where there is none."""
        calls = {
            "guard, bearer": self._bearer("/v1/guard/api", self.app, self.tokens),
            "guard, session": lambda _number: self.ask("/v1/guard/web", HTTP_COOKIE=self.cookie),
            "guard, bearer of a code": None,
            "login": lambda _number: self.post(TOKEN, self.login),
        }
        if self.of_codes:
            calls["guard, bearer of a code"] = self._bearer(OF_CODES, *self.of_codes)
        return calls

    def _bearer(self, path, app, tokens):
        def call(number):
            token = tokens[number % len(tokens)]
            self.ask(path, app=app, HTTP_AUTHORIZATION=f"Bearer {token}")

        return call

    def _signed_in(self):
        """The cookies of a browser that has logged in at the page."""
        page, cookies = self.ask("/login")
        form = next(
            each for each in re.findall(r"<form.*?</form>", page, re.S) if "password" in each
        )
        fields = {"password": self.password}
        for given in re.findall(r"<input[^>]*>", form):
            found = dict(re.findall(r'([\w-]+)="([^"]*)"', given))
            if found.get("type") == "hidden":
                fields[found["name"]] = html.unescape(found.get("value", ""))
            elif found.get("type") not in ("password", "checkbox", "submit"):
                fields[found["name"]] = "ann@example.com"
        _page, more = self.post(
            "/login", urlencode(fields), HTTP_COOKIE=cookies, HTTP_ORIGIN=BASE, accepted=(302, 303)
        )
        cookie = "; ".join(filter(None, (cookies, more)))
        self.ask("/v1/guard/web", HTTP_COOKIE=cookie)
        return cookie

    def _of_codes(self):
        """An application with OpenID Connect, and access tokens of authorization codes."""
        try:
            from bench import openid
        except ImportError:
            return None
        openid.CODES_PER_SECOND = 1  # of the revisions whose `codes` takes a number of seconds
        made = openid.Filled(self.folder, self.url, BASE)
        app = self._application(**{"openid": "on"})
        bodies = made.codes("parts", CODES).read_text().split()
        answers = [self.post(TOKEN, body, app=app)[0] for body in bodies]
        return app, [json.loads(answer)["access_token"] for answer in answers]

    def post(self, path, form, **more):
        """The answer to a form."""
        body = form.encode()
        return self.ask(
            path,
            REQUEST_METHOD="POST",
            CONTENT_LENGTH=str(len(body)),
            CONTENT_TYPE=FORM,
            **{"wsgi.input": BytesIO(body), "webob.is_body_seekable": True},
            **more,
        )

    def ask(self, path, *, app=None, accepted=(200, 204), **environ):
        """(body, the cookies that were set) of an answer with one of the statuses ``accepted``."""
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.url_scheme": "http",
            "wsgi.version": (1, 0),
            "wsgi.input": BytesIO(),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            **environ,
        }
        answers = []
        body = b"".join(
            (app or self.app)(environ, lambda status, headers: answers.append((status, headers)))
        )
        status, headers = answers[-1]
        if int(status.split()[0]) not in accepted:
            raise SystemExit(f"{path}: {status}: {body[:2000]!r}")
        cookies = [value.partition(";")[0] for name, value in headers if name == "Set-Cookie"]
        return body.decode(), "; ".join(each for each in cookies if not each.endswith("="))


def main():
    """Fill, and measure until the input ends."""
    os.environ["AUTHSITE_ENV_FILE"] = os.devnull
    logging.disable(logging.WARNING)
    hash_quickly()
    answers = os.fdopen(os.dup(1), "w")  # nothing else is written to it
    os.dup2(2, 1)
    site = Site(Path(sys.argv[1]), sys.argv[2])
    calls = site.calls()
    print(json.dumps({"ini": str(site.ini)}), file=answers, flush=True)
    for line in sys.stdin:
        micros = measured(line.strip(), calls[line.strip()])
        print(json.dumps(micros), file=answers, flush=True)


def measured(name, call):
    """Microseconds of processor time of one request; None for what the revision does not have."""
    if call is None:
        return None
    batch = BATCH.get(name, OTHERS)
    call(0)
    began = time.process_time()
    for number in range(batch):
        call(number)
    return (time.process_time() - began) / batch * 1e6


if __name__ == "__main__":
    main()
