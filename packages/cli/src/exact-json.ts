import { CommandFailed } from "./command-failed.ts";

/**
 * Reads JSON like the service does, because JSON.parse rounds numbers that the service refuses. Checks only the part
 * that `part` picks. Throws `CommandFailed` that begins with `what`.
 */
export async function exactJson(
  text: string,
  what: string,
  part: (value: unknown) => unknown = (value) => value,
): Promise<unknown> {
  // Loaded late: otherwise every command, even `--help`, takes twice as long to start.
  const { Fault, limits, parseInParts } = await loaded();
  try {
    // A recording's line adds one level around the submission.
    const { value, examine } = parseInParts(Buffer.from(text), limits.json_depth_max + 1);
    const problems = examine(part(value));
    if (problems.length > 0) throw notTaken(what, problems);
    return value;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.cause instanceof SyntaxError) throw new CommandFailed(`${what} is not JSON: ${error.cause.message}`);
    if (error.code === "payload_too_large")
      throw new CommandFailed(`${what} is refused: it has more than ${limits.json_values_max} values.`);
    throw notTaken(what, error.details);
  }
}

function notTaken(
  what: string,
  details: readonly { readonly path?: unknown; readonly message?: unknown }[],
): CommandFailed {
  const why = details.map(({ path, message }) => [path, message].filter(Boolean).join(": "));
  return new CommandFailed(`${what} is refused: ${why.join(" ")}`);
}

async function loaded() {
  const [{ Fault, parseInParts }, { limits }] = await Promise.all([
    import("@countersign/core"),
    import("@countersign/contract"),
  ]);
  return { Fault, limits, parseInParts };
}
