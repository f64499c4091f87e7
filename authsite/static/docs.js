/**
 * The page /docs: Swagger UI shows the OpenAPI document and calls the API.
 *
 * The web client (client/authsite.js) signs in through the proxy endpoints, adds the access token
 * to each call and renews it. Swagger UI does not get the token, and the page does not ask for a
 * client secret.
 */
import { AuthsiteError, createClient } from "./client/authsite.js";

// Security schemes of the document.
const BEARER = "bearer";
const CLIENT_BASIC = "clientBasic";
// What the curl commands contain instead of the token.
const TOKEN_IN_EXAMPLES = "<access_token>";

/** The operations that take a client secret, which is not for browsers: "post /v1/oauth/token". */
const forServers = new Set();
const viewer = find("#viewer");
const auth = createClient({ base: viewer.dataset.base });
const signIn = find("#sign-in"); // missing where there is no first-party client "web"

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

const ui = SwaggerUIBundle({
  domNode: viewer,
  spec: await loadDocument(),
  plugins: [adaptations],
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  syntaxHighlight: { theme: "tomorrow-night" },
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor: callAsUser,
});

if (signIn) {
  const signOut = find("#sign-out");
  auth.onChange(({ signedIn }) => {
    signIn.hidden = signedIn;
    signOut.hidden = !signedIn;
    if (signedIn) sayWho(signOut.querySelector("[data-account]"));
    if (signedIn) ui.preauthorizeApiKey(BEARER, TOKEN_IN_EXAMPLES);
    else ui.authActions.logout([BEARER]);
  });
  onSubmit(signIn, async () => {
    const { username, password } = Object.fromEntries(new FormData(signIn));
    try {
      await auth.login(String(username), String(password));
    } catch (error) {
      const wrong = error instanceof AuthsiteError && error.codes[0] === "invalid_grant" && error.codes.length === 1;
      throw wrong ? new AuthsiteError(signIn.dataset.wrong, { codes: error.codes }) : error;
    }
    signIn.reset();
  });
  onSubmit(signOut, auth.logout);
}

/** Names the signed-in user in `element`. */
async function sayWho(element) {
  element.textContent = "Signed in.";
  const answer = await auth.fetch(element.dataset.account);
  if (answer.ok) element.textContent = `Signed in as ${(await answer.json()).email}`;
}

/** The OpenAPI document, with only the security scheme that a reader can use on this page. */
async function loadDocument() {
  const response = await fetch(viewer.dataset.document);
  const document = await response.json();
  const { bearer } = document.components.securitySchemes;
  document.components.securitySchemes = { bearer };
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.security.some((each) => CLIENT_BASIC in each)) forServers.add(`${method} ${path}`);
      operation.security = operation.security.filter((each) => BEARER in each);
    }
  }
  return document;
}

/** Sends a call of Swagger UI that has the example token with the web client. */
function callAsUser(request) {
  if (request.headers.Authorization === `Bearer ${TOKEN_IN_EXAMPLES}`) {
    request.userFetch = auth.fetch;
  }
  return request;
}

/** A plugin of Swagger UI: names for its fields, and without what this document does not need. */
function adaptations({ React: { createElement, Fragment } }) {
  const unseen = (tag, text) => createElement(tag, { className: "unseen" }, text);
  const wrap = (change) => (Original) => (props) => change((more) => createElement(Original, { ...props, ...more }));
  // The form at the top is the one way to sign in, where it is there.
  const withForm = {
    authorizeBtn: () => null,
    authorizeOperationBtn: () => createElement("span", { className: "needs" }, "access token"),
  };
  return {
    components: {
      ...(signIn && withForm),
      DeepLink: ({ text }) => text, // the original is a link inside a button
      ParameterIncludeEmpty: () => null,
      ServersContainer: () => null,
    },
    wrapComponents: {
      contentType: wrap((original) => original({ controlId: undefined })), // of its label, too
      ExamplesSelect: wrap((original) =>
        createElement("label", null, unseen("span", "Example"), original()),
      ),
      InfoContainer: wrap((original) =>
        createElement("section", { "aria-label": "Introduction" }, original()),
      ),
      operations: wrap((original) =>
        createElement(Fragment, null, unseen("h2", "Endpoints"), original()),
      ),
      TextArea: wrap((original) => original({ "aria-label": "Request body" })),
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          allowTryItOutFor: () => (_state, path, method) => !forServers.has(`${method} ${path}`),
        },
      },
    },
  };
}

/** Does `work` when `form` is sent, and shows its error. */
function onSubmit(form, work) {
  const button = form.querySelector("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    find("#error").textContent = "";
    button.disabled = true;
    try {
      await work();
    } catch (error) {
      if (!(error instanceof AuthsiteError)) throw error;
      find("#error").textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

function applyColorScheme() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

/** @param {string} selector */
function find(selector) {
  return document.querySelector(selector);
}
