"""A client of MCP with the Python SDK, which finds everything from the URL of a server.

Its argument is JSON: ``server``, ``port`` (of its callback), ``store`` (a file that keeps client
and tokens), ``document`` (the URL that describes it), ``client_id`` (if it is registered) and
``issuer``, where it is.
It prints lines of JSON: the URL that a person has to open, and at the end what it found.
"""

import asyncio
import json
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

given = json.loads(sys.argv[1])
callback = f"http://127.0.0.1:{given['port']}/callback"
metadata = {
    "client_name": "Python client",
    "redirect_uris": [callback],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
}


class Store:
    """What the client keeps, in a file."""

    def __init__(self, path):
        self.path = Path(path)
        self.kept = json.loads(self.path.read_text()) if self.path.exists() else {}

    def keep(self, name, value):
        self.kept[name] = value.model_dump(mode="json")
        self.path.write_text(json.dumps(self.kept))

    async def get_tokens(self):
        return OAuthToken(**self.kept["tokens"]) if "tokens" in self.kept else None

    async def set_tokens(self, tokens):
        self.keep("tokens", tokens)

    async def get_client_info(self):
        return OAuthClientInformationFull(**self.kept["client"]) if "client" in self.kept else None

    async def set_client_info(self, client_info):
        self.keep("client", client_info)


class Callback:
    """The server at the redirect URI."""

    def __init__(self):
        self.opened, self.answer = [], asyncio.Queue()

    async def open(self, url):
        self.opened.append(url)
        print(json.dumps({"open": url}), flush=True)

    async def wait(self):
        query = {name: value[0] for name, value in parse_qs(await self.answer.get()).items()}
        return AuthorizationCodeResult(
            code=query.get("code", ""), state=query["state"], iss=query.get("iss")
        )

    async def serve(self, reader, writer):
        target = (await reader.readline()).decode().split()[1]
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nDone."
        )
        await writer.drain()
        writer.close()
        if target.startswith("/callback?"):
            await self.answer.put(urlsplit(target).query)


async def call(provider):
    async with (
        httpx2.AsyncClient(auth=provider) as http,
        Client(streamable_http_client(given["server"], http_client=http)) as client,
    ):
        return (await client.call_tool("whoami", {})).content[0].text


async def main():
    store, back = Store(given["store"]), Callback()
    if given.get("client_id") and "client" not in store.kept:
        about = {**metadata, "client_id": given["client_id"], "issuer": given["issuer"]}
        store.keep("client", OAuthClientInformationFull(**about))
    await asyncio.start_server(back.serve, "127.0.0.1", given["port"])
    provider = OAuthClientProvider(
        given["server"],
        OAuthClientMetadata(**metadata),
        store,
        back.open,
        back.wait,
        given.get("document"),
    )
    found = {"first": await call(provider), "tokens": [store.kept["tokens"]]}
    provider.context.token_expiry_time = 1
    found["second"] = await call(provider)
    found["tokens"].append(store.kept["tokens"])
    print(json.dumps({**found, "client": store.kept["client"], "opened": back.opened}), flush=True)


asyncio.run(main())
