// A certified OpenID provider behind TLS. The first argument is JSON: `issuer`, `port`,
// `certificate` (PEM with the key), `client` and `redirectUri`. A login name is the e-mail address.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { Provider } from "oidc-provider";

const { issuer, port, certificate, client, redirectUri } = JSON.parse(process.argv[2]);
const pem = readFileSync(certificate);

const provider = new Provider(issuer, {
  clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: id, email_verified: true, name: "Ann Example" }),
  }),
});
createServer({ cert: pem, key: pem }, provider.callback()).listen(port, "127.0.0.1");
