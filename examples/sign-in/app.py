"""A web application whose users sign in at authsite."""

import os
import secrets

from flask import Flask, redirect, request, session

from authsite_client import ApiError, CodeLogin, LoginFailed, Service

HOME = os.environ.get("HOME_URL", "http://localhost:8000")
login = CodeLogin(
    Service(os.environ.get("AUTH_URL", "http://localhost:6543"), ca_file=os.environ.get("AUTH_CA")),
    os.environ["AUTH_CLIENT_ID"],
    os.environ["AUTH_CLIENT_SECRET"],
    f"{HOME}/signed-in",
)
app = Flask(__name__)
app.secret_key = os.environ.get("SECRET_KEY") or secrets.token_bytes(32)
app.config.update(SESSION_COOKIE_SAMESITE="Lax", SESSION_COOKIE_SECURE=HOME.startswith("https:"))
TITLE = "<!doctype html><title>Orders</title>"
SIGN_IN = '<a href="/sign-in">Sign in</a>'
SIGN_OUT = '<form method="post" action="/sign-out"><button>Sign out</button></form>'


@app.get("/")
def home():
    if "user" not in session:
        return f"{TITLE}<p>Welcome. {SIGN_IN}"
    return f"{TITLE}<p id='user'>{session['user']}</p>{SIGN_OUT}"


@app.get("/sign-in")
def sign_in():
    return redirect(login.login_url(session, request.args.get("next")))


@app.get("/signed-in")
def signed_in():
    user = login.callback(session, request.args)
    session["user"] = user.sub
    session["id_token"] = user.id_token
    return redirect(user.next)


@app.post("/sign-out")
def sign_out():
    id_token = session.get("id_token", "")
    session.clear()
    return redirect(login.logout_url(id_token, f"{HOME}/"), 303)


@app.errorhandler(LoginFailed)
@app.errorhandler(ApiError)
def failed(error):
    app.logger.warning("sign-in failed: %s", error)
    return f"{TITLE}<p>You are not signed in. {SIGN_IN}", 403


if __name__ == "__main__":
    app.run(host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
