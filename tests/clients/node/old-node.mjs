// The conformance suite imports fs.globSync, which Node.js has from version 22 on, for commands that
// we do not run. `node --import ./old-node.mjs` gives it one that throws.
import * as fs from "node:fs";
import { register } from "node:module";

if (!fs.globSync) {
  const names = Object.keys(fs).filter((name) => name !== "default").join(", ");
  const source = `
    import fs from "node:fs";
    export default fs;
    export const { ${names} } = fs;
    export function globSync() { throw new Error("needs Node.js 22"); }`;
  const shim = `data:text/javascript,${encodeURIComponent(source)}`;
  const hooks = `
    export async function resolve(name, context, next) {
      const wanted = name === "fs" && context.parentURL?.includes("/conformance/");
      return wanted ? { url: ${JSON.stringify(shim)}, shortCircuit: true } : next(name, context);
    }`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}
