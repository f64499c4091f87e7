// An application whose users Auth.js signs in, with the provider of its documentation for OpenID
// Connect. The page "/" is the session.
import { ExpressAuth, getSession } from "@auth/express";
import express from "express";

const { issuer, port, client_id, client_secret, secret } = JSON.parse(process.env.APP);
const config = {
  providers: [
    { id: "authsite", name: "authsite", type: "oidc", issuer, clientId: client_id, clientSecret: client_secret },
  ],
  secret,
  trustHost: true,
  callbacks: {
    // The id of the user: Auth.js has it with the account, and leaves it out of the session.
    jwt: ({ token, account }) => (account ? { ...token, id: account.providerAccountId } : token),
    session: ({ session, token }) => ({ ...session, user: { ...session.user, id: token.id } }),
  },
};
const app = express();
app.use("/auth", ExpressAuth(config));
app.get("/", async (request, response) => response.json(await getSession(request, config)));
app.listen(port, "127.0.0.1");
