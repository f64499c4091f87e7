"""The configuration that ``client add --for flask`` prints, in an application around it."""

import os
import sys
from pathlib import Path

from flask import Flask, redirect, session  # noqa: F401  used in the file under test

app = Flask(__name__)
app.secret_key = os.urandom(32)
config, port = sys.argv[1:]


@app.get("/")
def home():
    button = '<form method="post" action="/sign-out"><button>Sign out</button></form>'
    return f"user: {session.get('user')} {button}"


exec(Path(config).read_text())  # noqa: S102  the file under test
app.run(host="127.0.0.1", port=int(port))
