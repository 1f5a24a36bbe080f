/** What the YAML library finds wrong with a policy, said to whoever writes it: the service and the console say the same. */

/** What YAML makes of expressions that are not put in quotes. */
const quotingCodes: ReadonlySet<string> = new Set(["UNEXPECTED_TOKEN", "BLOCK_AS_IMPLICIT_KEY", "BAD_SCALAR_START"]);
/** How an expression is written that YAML would read as something else. */
export const yaml_quoting_help =
  'In YAML, an expression that begins with a quote, !, [ or {, or that has ": " in it, stands in single quotes, or on a line of its own below |-.';

/** The library's finding in whole sentences; of several documents it speaks to programmers, with a function to call. */
export function yamlFinding(found: { readonly code: string; readonly message: string }): {
  readonly message: string;
  readonly help: string;
} {
  if (found.code === "MULTIPLE_DOCS") {
    return {
      message: "A second document begins here.",
      help: "One file holds one policy: give the other one its own.",
    };
  }
  const help = `The document must be one YAML or JSON document.${quotingCodes.has(found.code) ? ` ${yaml_quoting_help}` : ""}`;
  return { message: `${found.message.split("\n", 1)[0] ?? ""}.`, help };
}
