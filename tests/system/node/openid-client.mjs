// Prints what openid-client gets from a running authsite; AUTHSITE_SITE says where it is.
import * as oauth from 'openid-client'

const { issuer, web, machine, resource, user } = JSON.parse(process.env.AUTHSITE_SITE)
// RFC 8414 instead of OpenID Connect; and http, which is for this machine only.
const options = { algorithm: 'oauth2', execute: [oauth.allowInsecureRequests] }
const discover = (keys, method) =>
  oauth.discovery(new URL(issuer), keys.id, keys.secret, method(keys.secret), options)

const asUser = await discover(web, oauth.ClientSecretBasic)
const metadata = asUser.serverMetadata()
const me = async (token) =>
  (await oauth.fetchProtectedResource(asUser, token, new URL(`${issuer}/v1/user`), 'GET')).json()
// With a WWW-Authenticate header (client authentication by Basic) it throws the challenge instead of
// the error, and leaves the body to the caller.
const errorOf = (promise) => promise.then(
  () => null, async (error) => error.error ?? (await error.response.json()).error)

const login = await oauth.genericGrantRequest(asUser, 'password', { ...user, scope: 'notes:read' })
const refreshed = await oauth.refreshTokenGrant(asUser, login.refresh_token)
const own = await oauth.tokenIntrospection(asUser, refreshed.refresh_token)
const asResource = await discover(resource, oauth.ClientSecretPost)
const before = await oauth.tokenIntrospection(asResource, refreshed.access_token)
const email = (await me(refreshed.access_token)).email
await oauth.tokenRevocation(asUser, refreshed.refresh_token, { token_type_hint: 'refresh_token' })
const after = await oauth.tokenIntrospection(asResource, refreshed.access_token)
const challenge = await me(refreshed.access_token).catch((error) => error.cause[0].parameters.error)
const wrong = { ...user, password: 'not this one' }

const asMachine = await discover(machine, oauth.ClientSecretPost)
const machineToken = await oauth.clientCredentialsGrant(asMachine)
const withWrongSecret = await discover({ ...web, secret: 'wrong' }, oauth.ClientSecretBasic)

console.log(JSON.stringify({
  issuer: metadata.issuer,
  tokenEndpoint: metadata.token_endpoint,
  email,
  own,
  before,
  after,
  challenge,
  machine: (await oauth.tokenIntrospection(asMachine, machineToken.access_token)).owner,
  wrongPassword: await errorOf(oauth.genericGrantRequest(asUser, 'password', wrong)),
  wrongScope: await errorOf(oauth.clientCredentialsGrant(asMachine, { scope: 'notes:delete' })),
  wrongSecret: await errorOf(oauth.genericGrantRequest(withWrongSecret, 'password', user)),
}))
