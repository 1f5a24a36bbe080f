/** Turns errors of the YAML library into messages for authors of policies, for the service and the console. */

/** Errors that unquoted expressions cause. */
const quotingCodes: ReadonlySet<string> = new Set(["UNEXPECTED_TOKEN", "BLOCK_AS_IMPLICIT_KEY", "BAD_SCALAR_START"]);
export const yaml_quoting_help =
  'In YAML, put an expression that begins with a quote, !, [ or {, or that contains ": ", in single quotes, or on its own line below |-.';

/** Returns the error in whole sentences. Replaces the text about several documents, which is for programmers. */
export function yamlFinding(found: { readonly code: string; readonly message: string }): {
  readonly message: string;
  readonly help: string;
} {
  if (found.code === "MULTIPLE_DOCS") {
    return {
      message: "A second document begins here.",
      help: "Write each policy into its own file.",
    };
  }
  const help = `The document must be one YAML or JSON document.${quotingCodes.has(found.code) ? ` ${yaml_quoting_help}` : ""}`;
  return { message: `${found.message.split("\n", 1)[0] ?? ""}.`, help };
}
