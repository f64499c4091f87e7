"""Notes behind authsite: every path but / needs an access token, and adding one a scope."""

import os
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Request, Response
from pydantic import BaseModel

from authsite_client import IDENTITY, AsgiMiddleware, Identity, VerificationError, Verifier

verifier = Verifier(
    os.environ.get("AUTH_URL", "http://localhost:6543"),
    os.environ["AUTH_CLIENT_ID"],
    os.environ["AUTH_CLIENT_SECRET"],
)
app = FastAPI()
app.add_middleware(AsgiMiddleware, verifier=verifier, exempt=["/", "/docs", "/openapi.json"])
notes = ["Buy bread"]


@app.exception_handler(VerificationError)
def denied(request: Request, error: VerificationError) -> Response:
    return Response(error.body, error.status, dict(error.headers))


def caller(request: Request) -> Identity:
    return request.scope[IDENTITY]


def writer(identity: Annotated[Identity, Depends(caller)]) -> Identity:
    identity.require("notes:write")
    return identity


class Note(BaseModel):
    text: str


@app.get("/")
def home() -> dict:
    return {"message": "Send an access token to /notes."}


@app.get("/notes")
def show(identity: Annotated[Identity, Depends(caller)]) -> dict:
    return {"user": identity.username, "notes": notes}


@app.post("/notes", status_code=201, dependencies=[Depends(writer)])
def add(note: Note) -> dict:
    notes.append(note.text)
    return {"notes": notes}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
