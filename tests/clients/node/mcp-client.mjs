// A client of MCP with the TypeScript SDK. Its argument and what it prints are those of
// tests/clients/apps/mcp_client.py.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const given = JSON.parse(process.argv[2]);
const callback = `http://127.0.0.1:${given.port}/callback`;
const kept = existsSync(given.store) ? JSON.parse(readFileSync(given.store)) : {};
const opened = [];
let arrived;
const answer = new Promise((resolve) => (arrived = resolve));
const server = createServer((request, response) => {
  const url = new URL(request.url, callback);
  response.end("Done.");
  if (url.searchParams.has("state")) arrived(url.searchParams);
}).listen(given.port, "127.0.0.1");

function keep(name, value) {
  kept[name] = value;
  writeFileSync(given.store, JSON.stringify(kept));
}

if (given.client_id && !kept.client) keep("client", { client_id: given.client_id });

const provider = {
  redirectUrl: callback,
  clientMetadataUrl: given.document ?? undefined,
  clientMetadata: {
    client_name: "TypeScript client",
    redirect_uris: [callback],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  },
  state: () => "state of the client",
  clientInformation: () => kept.client,
  saveClientInformation: (value) => keep("client", value),
  tokens: () => kept.tokens,
  saveTokens: (value) => keep("tokens", value),
  redirectToAuthorization(url) {
    opened.push(url.href);
    console.log(JSON.stringify({ open: url.href }));
  },
  saveCodeVerifier: (value) => (kept.verifier = value),
  codeVerifier: () => kept.verifier,
};

async function call() {
  const transport = new StreamableHTTPClientTransport(new URL(given.server), { authProvider: provider });
  const client = new Client({ name: "tests", version: "1" });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const found = await answer;
    if (found.get("state") !== "state of the client") throw new Error("another state");
    await transport.finishAuth(found.get("code"));
    return await call();
  }
  const result = await client.callTool({ name: "whoami", arguments: {} });
  await client.close();
  return result.content[0].text;
}

const first = await call();
const tokens = [kept.tokens];
keep("tokens", { ...kept.tokens, access_token: "expired" });
const second = await call();
tokens.push(kept.tokens);
console.log(JSON.stringify({ first, second, tokens, client: kept.client, opened }));
server.close();
process.exit(0);
