// Prints what simple-oauth2 gets from a running authsite; AUTHSITE_SITE says where it is.
// It knows neither metadata nor introspection: both are asked for by fetch.
import { ClientCredentials, ResourceOwnerPassword } from 'simple-oauth2'

const { issuer, web, machine, resource, user } = JSON.parse(process.env.AUTHSITE_SITE)
const { origin, pathname } = new URL(issuer)
const wellKnown = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`
const metadata = await (await fetch(wellKnown)).json()
const config = (keys, authorizationMethod) => ({
  client: keys,
  auth: {
    tokenHost: origin,
    tokenPath: new URL(metadata.token_endpoint).pathname,
    revokePath: new URL(metadata.revocation_endpoint).pathname,
  },
  options: { authorizationMethod },
})
const introspect = async (keys, token) => {
  const form = { token, client_id: keys.id, client_secret: keys.secret }
  const body = new URLSearchParams(form)
  return (await fetch(metadata.introspection_endpoint, { method: 'POST', body })).json()
}
const me = (token) =>
  fetch(`${issuer}/v1/user`, { headers: { authorization: `Bearer ${token}` } })
const errorOf = (promise) => promise.then(() => null, (error) => error.data.payload.error)

const asUser = new ResourceOwnerPassword(config(web, 'header'))
const login = await asUser.getToken({ ...user, scope: ['notes:read'] })
const refreshed = await login.refresh()
const own = await introspect(web, refreshed.token.refresh_token)
const before = await introspect(resource, refreshed.token.access_token)
const email = (await (await me(refreshed.token.access_token)).json()).email
await refreshed.revokeAll()
const after = await introspect(resource, refreshed.token.access_token)
const challenge = (await me(refreshed.token.access_token)).headers
  .get('www-authenticate').match(/error="(\w+)"/)[1]

const asMachine = new ClientCredentials(config(machine, 'body'))
const machineToken = await asMachine.getToken({})
const withWrongSecret = new ResourceOwnerPassword(config({ ...web, secret: 'wrong' }, 'header'))

console.log(JSON.stringify({
  issuer: metadata.issuer,
  tokenEndpoint: metadata.token_endpoint,
  email,
  own,
  before,
  after,
  challenge,
  expired: machineToken.expired(),
  machine: (await introspect(machine, machineToken.token.access_token)).owner,
  wrongPassword: await errorOf(asUser.getToken({ ...user, password: 'not this one' })),
  wrongScope: await errorOf(asMachine.getToken({ scope: 'notes:delete' })),
  wrongSecret: await errorOf(withWrongSecret.getToken(user)),
}))
