// A web application that signs people in with openid-client: /login, /callback, /logout.
// AUTHSITE_RP is JSON: `issuer`, `id`, `secret`, `url`, `port`, and `alg` of the ID token.
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { issuer, id, secret, url, port, alg } = JSON.parse(process.env.AUTHSITE_RP)
const metadata = { client_secret: secret, id_token_signed_response_alg: alg }
const config = await client.discovery(new URL(issuer), id, metadata)
// The signature of the ID token is checked, too.
client.enableNonRepudiationChecks(config)
const started = new Map()
let idToken

const routes = {
  async '/login' () {
    const state = client.randomState()
    const nonce = client.randomNonce()
    const verifier = client.randomPKCECodeVerifier()
    started.set(state, { nonce, verifier })
    return client.buildAuthorizationUrl(config, {
      redirect_uri: `${url}/callback`,
      scope: 'openid profile email offline_access',
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
  },
  async '/callback' (here) {
    const state = here.searchParams.get('state')
    const { nonce, verifier } = started.get(state)
    started.delete(state)
    const tokens = await client.authorizationCodeGrant(config, here, {
      expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true,
    })
    idToken = tokens.id_token
    const claims = tokens.claims()
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token)
    return {
      claims,
      userinfo: await client.fetchUserInfo(config, refreshed.access_token, claims.sub),
      refreshed: refreshed.claims(),
    }
  },
  async '/logout' () {
    return client.buildEndSessionUrl(config, {
      id_token_hint: idToken, post_logout_redirect_uri: `${url}/bye`, state: 'of the application',
    })
  },
  async '/bye' (here) {
    return { state: here.searchParams.get('state') }
  },
}

createServer(async (request, response) => {
  const here = new URL(request.url, url)
  try {
    const answer = await routes[here.pathname](here)
    if (answer instanceof URL) response.writeHead(302, { location: answer.href }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  } catch (error) {
    const { code, error: name, message, cause } = error
    response.writeHead(500, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ code, error: name, message, cause: String(cause) }))
  }
}).listen(port, '127.0.0.1')
