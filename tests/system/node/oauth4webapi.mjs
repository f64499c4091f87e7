// Prints what oauth4webapi gets from a running authsite; AUTHSITE_SITE says where it is.
import * as oauth from 'oauth4webapi'

const { issuer, web, machine, resource, user } = JSON.parse(process.env.AUTHSITE_SITE)
const options = { [oauth.allowInsecureRequests]: true } // http, which is for this machine only
const client = (keys) => ({ client_id: keys.id })
const basic = (keys) => oauth.ClientSecretBasic(keys.secret)
const post = (keys) => oauth.ClientSecretPost(keys.secret)

const url = new URL(issuer)
const found = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...options })
const server = await oauth.processDiscoveryResponse(url, found)

const login = async (keys, password = user.password) => {
  const parameters = { ...user, password, scope: 'notes:read' }
  const response = await oauth.genericTokenEndpointRequest(
    server, client(keys), basic(keys), 'password', parameters, options)
  return oauth.processGenericTokenEndpointResponse(server, client(keys), response)
}
const refresh = async (keys, token) => {
  const response = await oauth.refreshTokenGrantRequest(
    server, client(keys), basic(keys), token, options)
  return oauth.processRefreshTokenResponse(server, client(keys), response)
}
const credentials = async (keys, parameters) => {
  const response = await oauth.clientCredentialsGrantRequest(
    server, client(keys), post(keys), parameters, options)
  return oauth.processClientCredentialsResponse(server, client(keys), response)
}
const introspect = async (keys, token, method = post) => {
  const response = await oauth.introspectionRequest(
    server, client(keys), method(keys), token, options)
  return oauth.processIntrospectionResponse(server, client(keys), response)
}
const revoke = async (keys, token) => {
  const response = await oauth.revocationRequest(
    server, client(keys), basic(keys), token, options)
  return oauth.processRevocationResponse(response)
}
const me = async (token) => {
  const address = new URL(`${issuer}/v1/user`)
  const response = await oauth.protectedResourceRequest(
    token, 'GET', address, undefined, undefined, options)
  return response.json()
}
// With a WWW-Authenticate header (client authentication by Basic) it throws the challenge instead of
// the error, and leaves the body to the caller.
const errorOf = (promise) => promise.then(
  () => null, async (error) => error.error ?? (await error.response.json()).error)

const first = await login(web)
const refreshed = await refresh(web, first.refresh_token)
const own = await introspect(web, refreshed.refresh_token, basic)
const before = await introspect(resource, refreshed.access_token)
const email = (await me(refreshed.access_token)).email
await revoke(web, refreshed.refresh_token)
const after = await introspect(resource, refreshed.access_token)
const challenge = await me(refreshed.access_token).catch((error) => error.cause[0].parameters.error)
const machineToken = await credentials(machine, {})

console.log(JSON.stringify({
  issuer: server.issuer,
  tokenEndpoint: server.token_endpoint,
  email,
  own,
  before,
  after,
  challenge,
  machine: (await introspect(machine, machineToken.access_token)).owner,
  wrongPassword: await errorOf(login(web, 'not this one')),
  wrongScope: await errorOf(credentials(machine, { scope: 'notes:delete' })),
  wrongSecret: await errorOf(login({ ...web, secret: 'wrong' })),
}))
