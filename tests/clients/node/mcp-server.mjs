// A server of MCP with the TypeScript SDK: its own metadata and challenge, and introspection.
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const { AUTH_URL, AUTH_CLIENT_ID, AUTH_CLIENT_SECRET, MCP_URL, PORT } = process.env;
const resource = new URL(MCP_URL);
const found = await fetch(`${AUTH_URL}/.well-known/oauth-authorization-server`);
const oauthMetadata = await found.json();
const keys = [AUTH_CLIENT_ID, AUTH_CLIENT_SECRET].map(encodeURIComponent).join(":");

async function verifyAccessToken(token) {
  const response = await fetch(oauthMetadata.introspection_endpoint, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(keys)}` },
    body: new URLSearchParams({ token }),
  });
  if (!response.ok) throw new Error(`introspection: status ${response.status}`);
  const { active, token_type, client_id, scope, exp, aud, sub } = await response.json();
  if (!active || token_type !== "Bearer") throw new InvalidTokenError("The token is not active");
  return {
    token,
    clientId: client_id,
    scopes: scope.split(" "),
    expiresAt: exp,
    resource: aud && new URL(aud),
    extra: { sub },
  };
}

const app = createMcpExpressApp();
const scopesSupported = ["notes:read", "notes:write"];
app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: resource, scopesSupported }));
const protect = requireBearerAuth({
  verifier: { verifyAccessToken },
  requiredScopes: ["notes:read"],
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
  expectedResource: resource,
});
app.post(resource.pathname, protect, async (request, response) => {
  const server = new McpServer({ name: "Notes", version: "1" });
  server.registerTool("whoami", { description: "The id of the user" }, (more) => ({
    content: [{ type: "text", text: more.authInfo.extra.sub }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all(resource.pathname, (_request, response) => response.status(405).end());
app.listen(Number(PORT), "127.0.0.1");
