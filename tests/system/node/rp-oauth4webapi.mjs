// A public client (type browser) with oauth4webapi: /login, /callback. The same environment variable
// as rp-openid-client.mjs, without a secret.
import { createServer } from 'node:http'
import * as oauth from 'oauth4webapi'

const { issuer, id, url, port, alg } = JSON.parse(process.env.AUTHSITE_RP)
const identifier = new URL(issuer)
const server = await oauth.processDiscoveryResponse(
  identifier, await oauth.discoveryRequest(identifier))
const client = { client_id: id, id_token_signed_response_alg: alg }
const started = new Map()

const routes = {
  async '/login' () {
    const state = oauth.generateRandomState()
    const nonce = oauth.generateRandomNonce()
    const verifier = oauth.generateRandomCodeVerifier()
    started.set(state, { nonce, verifier })
    const target = new URL(server.authorization_endpoint)
    target.search = new URLSearchParams({
      client_id: id,
      redirect_uri: `${url}/callback`,
      response_type: 'code',
      scope: 'openid email',
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return target
  },
  async '/callback' (here) {
    const state = here.searchParams.get('state')
    const { nonce, verifier } = started.get(state)
    // Checks `iss` (RFC 9207), since the metadata announces it.
    const parameters = oauth.validateAuthResponse(server, client, here, state)
    const response = await oauth.authorizationCodeGrantRequest(
      server, client, oauth.None(), parameters, `${url}/callback`, verifier)
    const tokens = await oauth.processAuthorizationCodeResponse(
      server, client, response, { expectedNonce: nonce, requireIdToken: true })
    await oauth.validateApplicationLevelSignature(server, response)
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    const userinfo = await oauth.processUserInfoResponse(
      server, client, claims.sub, await oauth.userInfoRequest(server, client, tokens.access_token))
    return { claims, userinfo }
  },
}

createServer(async (request, response) => {
  const here = new URL(request.url, url)
  try {
    const answer = await routes[here.pathname](here)
    if (answer instanceof URL) response.writeHead(302, { location: answer.href }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  } catch (error) {
    response.writeHead(500, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: error.error, message: error.message, cause: String(error.cause) }))
  }
}).listen(port, '127.0.0.1')
