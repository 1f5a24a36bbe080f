/**
 * Replaces `model.ts` of an example by the stub model of the same name in test/adapters/models, which makes the call of
 * STUB_CALL. Finds the frameworks where the tests of the adapters have them. For `node --import`.
 */
import { registerHooks } from "node:module";

const adapters = new URL("../adapters/", import.meta.url).href;
const examples = new URL("../../examples/", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const is_of_example = context.parentURL?.startsWith(examples) === true && !specifier.startsWith(".");
    return next(specifier, is_of_example ? { ...context, parentURL: `${adapters}package.json` } : context);
  },
  load(url, context, next) {
    if (!url.startsWith(examples) || !url.endsWith("/model.ts")) return next(url, context);
    const name = url.slice(examples.length).split("/")[0];
    const source = `import { stubModel } from ${JSON.stringify(`${adapters}models/${name}.ts`)};
      export const model = stubModel(${process.env.STUB_CALL});`;
    return { format: "module", source, shortCircuit: true };
  },
});
