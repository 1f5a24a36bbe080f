/** Reads secrets from files: `DATABASE_URL_FILE` names a file that holds DATABASE_URL. */
import { readFileSync } from "node:fs";
import { type Setting, settings } from "@countersign/contract";

type Environment = Readonly<Record<string, string | undefined>>;

export const secretFileVariables: ReadonlyMap<string, string> = new Map(
  Object.values<Setting>(settings).flatMap(({ name, secret }) => (secret ? [[name, `${name}_FILE`] as const] : [])),
);

/** Calls `refuse` if a file cannot be read, is empty, or is set beside the setting itself. */
export function withSecretFiles(env: Environment, refuse: (variable: string, expected: string) => void): Environment {
  const secrets: Record<string, string> = {};
  for (const [name, variable] of secretFileVariables) {
    const path = env[variable]?.trim();
    if (!path) continue;
    if (env[name]?.trim()) refuse(variable, `nothing, because ${name} is set, too`);
    else secrets[name] = readSecret(path, (expected) => refuse(variable, expected));
  }
  return { ...env, ...secrets };
}

function readSecret(path: string, refuse: (expected: string) => void): string {
  try {
    const text = readFileSync(path, "utf8").trim();
    if (text === "") refuse("a file that is not empty");
    return text;
  } catch (error) {
    refuse(`a file that can be read (${(error as NodeJS.ErrnoException).code})`);
    return "";
  }
}
