"""Notes behind authsite: every path but / needs the token of a user, and adding one a scope."""

import os
from collections import defaultdict

from flask import Flask, request

from authsite_client import IDENTITY, VerificationError, Verifier, WsgiMiddleware

verifier = Verifier(
    os.environ.get("AUTH_URL", "http://localhost:6543"),
    os.environ["AUTH_CLIENT_ID"],
    os.environ["AUTH_CLIENT_SECRET"],
)
app = Flask(__name__)
app.wsgi_app = WsgiMiddleware(app.wsgi_app, verifier, exempt=["/"])
notes = defaultdict(lambda: ["Buy bread"])  # by the id of the user, which never changes


@app.errorhandler(VerificationError)
def denied(error):
    return error.body, error.status, error.headers


@app.get("/")
def home():
    return {"message": "Send an access token to /notes."}


@app.get("/notes")
def show():
    identity = request.environ[IDENTITY]
    return {"user": identity.username or identity.sub, "notes": notes[identity.sub]}


@app.post("/notes")
def add():
    identity = request.environ[IDENTITY]
    identity.require("notes:write")
    notes[identity.sub].append(request.form["text"])
    return {"notes": notes[identity.sub]}, 201


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
