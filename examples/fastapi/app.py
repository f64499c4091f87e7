"""Notes behind authsite: all but / and the documentation needs the token of a user."""

import asyncio
import os
from collections import defaultdict
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Request, Response, WebSocket
from fastapi.security import OAuth2PasswordBearer
from pydantic import BaseModel

from authsite_client import IDENTITY, AsgiMiddleware, Identity, VerificationError, Verifier

AUTH_URL = os.environ.get("AUTH_URL", "http://localhost:6543")
verifier = Verifier(AUTH_URL, os.environ["AUTH_CLIENT_ID"], os.environ["AUTH_CLIENT_SECRET"])
app = FastAPI()
app.add_middleware(
    AsgiMiddleware,
    verifier=verifier,
    exempt=["/", "/docs", "/openapi.json"],
    websocket_protocol=True,
)
# The button Authorize of /docs: it gets a token there, and the middleware verifies it.
login = OAuth2PasswordBearer(
    f"{AUTH_URL}/v1/clients/web/login", scopes={"notes:write": "Add notes"}, auto_error=False
)
notes = defaultdict(lambda: ["Buy bread"])  # by the id of the user, which never changes


@app.exception_handler(VerificationError)
def denied(request: Request, error: VerificationError) -> Response:
    return Response(error.body, error.status, dict(error.headers))


def caller(request: Request, _: Annotated[str | None, Depends(login)]) -> Identity:
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
    return {"user": identity.username or identity.sub, "notes": notes[identity.sub]}


@app.post("/notes", status_code=201)
def add(note: Note, identity: Annotated[Identity, Depends(writer)]) -> dict:
    notes[identity.sub].append(note.text)
    return {"notes": notes[identity.sub]}


@app.websocket("/live")
async def live(socket: WebSocket) -> None:
    identity = socket.scope[IDENTITY]
    await socket.accept()
    while await identity.still_active_async():
        await socket.send_json(notes[identity.sub])
        await asyncio.sleep(1)
    await socket.close(1008)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
