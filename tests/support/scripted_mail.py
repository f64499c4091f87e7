"""A mail server that says what a test tells it, and keeps each byte that it got."""

import base64
import socket
import ssl
import threading
from contextlib import contextmanager


class ScriptedMailServer:
    """``features``: of EHLO. ``replies``: by verb; bytes, or a function of the session.

    The verb ``CONNECT`` is for the greeting. ``clear`` and ``encrypted`` are all that was
    received, before and within TLS.
    """

    def __init__(self, features=(), replies=None, tls=None):
        self.features, self.replies, self.tls = list(features), replies or {}, tls
        self.clear = self.encrypted = b""
        self.taken, self.logins, self.names = [], [], []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = []

    def serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            client.settimeout(30)
            thread = threading.Thread(target=self._answer, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self):
        # Wakes the thread in accept(), which close() alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _answer(self, client):
        session = Session(self, client)
        try:
            session.run()
        except (OSError, ssl.SSLError):
            pass  # the other side has hung up, which some tests want
        finally:
            session.client.close()

    def password_in_clear(self, user, password):
        """Whether the password was received outside TLS, plain or encoded."""
        plain = base64.b64encode(f"\0{user}\0{password}".encode())
        forms = (password.encode(), base64.b64encode(password.encode()), plain)
        return any(form in self.clear for form in forms)


class Session:
    """One connection."""

    def __init__(self, server, client):
        self.server, self.client, self.rest, self.secure = server, client, b"", False
        self.last = b""  # the command that is answered

    def say(self, text):
        self.client.sendall(text + b"\r\n")

    def line(self):
        while b"\n" not in self.rest:
            self._receive()
        line, _, self.rest = self.rest.partition(b"\n")
        return line.rstrip(b"\r")

    def _receive(self):
        chunk = self.client.recv(65536)
        if not chunk:
            raise OSError("closed")
        if self.secure:
            self.server.encrypted += chunk
        else:
            self.server.clear += chunk
        self.rest += chunk

    def upgrade(self):
        """Begin TLS, as after STARTTLS."""
        self.client = self.server.tls.wrap_socket(self.client, server_side=True)
        self.secure, self.rest = True, b""

    def run(self):
        if self.perform("CONNECT", self.server.replies.get("CONNECT", b"220 relay.example ESMTP")):
            return
        while True:
            line = self.last = self.line()
            verb = line.split(b" ")[0].split(b":")[0].decode("latin-1").upper()
            handler = getattr(self, f"on_{verb.lower()}", None)
            if verb in self.server.replies:
                if self.perform(verb, self.server.replies[verb]):
                    return
            elif handler:
                handler(line)
            else:
                self.say(b"500 5.5.1 Unknown")
            if verb == "QUIT":
                return

    def perform(self, verb, reply):
        """Answer with what the test gave; True if the connection is to end."""
        if callable(reply):
            return reply(self)
        self.say(reply)
        return reply.startswith(b"421")

    def on_ehlo(self, line):
        self.server.names.append(line.partition(b" ")[2].decode())
        features = [
            each for each in self.server.features if not (self.secure and each == "STARTTLS")
        ]
        lines = ["relay.example", *features]
        for each in lines[:-1]:
            self.say(f"250-{each}".encode())
        self.say(f"250 {lines[-1]}".encode())

    def on_helo(self, line):
        self.server.names.append(line.partition(b" ")[2].decode())
        self.say(b"250 relay.example")

    def on_starttls(self, _line):
        self.say(b"220 2.0.0 Ready")
        self.upgrade()

    def on_auth(self, line):
        mechanism, _, initial = line.partition(b" ")[2].partition(b" ")
        if mechanism != b"PLAIN":
            return self.say(b"504 5.5.4 Unknown mechanism")
        _, user, password = base64.b64decode(initial).split(b"\0")
        self.server.logins.append((user.decode(), password.decode()))
        self.say(b"235 2.7.0 Welcome")

    def on_data(self, _line):
        self.say(b"354 Go on")
        lines = []
        while (line := self.line()) != b".":
            lines.append(line)
        self.server.taken.append(b"\n".join(lines))
        self.say(b"250 2.0.0 Taken")

    def _ok(self, _line):
        self.say(b"250 2.0.0 OK")

    on_mail = on_rcpt = on_rset = on_noop = _ok

    def on_quit(self, _line):
        self.say(b"221 2.0.0 Bye")


@contextmanager
def scripted_mail_server(*features, **how):
    """Run a `ScriptedMailServer` whose EHLO has these features."""
    server = ScriptedMailServer(features, **how)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(5)
