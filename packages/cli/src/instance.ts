import type { Instance, ListedOrganization, Log } from "@countersign/server";
import { CommandFailed } from "./command-failed.ts";
import type { Terminal } from "./terminal.ts";

/** Writes warnings and errors as text lines to standard error. */
export function instanceLog(terminal: Terminal): Log {
  const print = (fields: object, message: string) => terminal.printError(logLine(fields, message));
  return { debug: () => undefined, info: () => undefined, warn: print, error: print };
}

function logLine(fields: object, message: string): string {
  const texts = Object.values(fields).map((value) => (value instanceof Error ? value.message : String(value)));
  return `countersign: ${[message, ...texts].join(": ")}`;
}

/**
 * Opens the instance, runs `work`, and closes it. Throws CommandFailed if the database is lost or a statement times
 * out.
 */
export async function withInstance<T>(
  terminal: Terminal,
  work: (instance: Instance) => Promise<T>,
  opening: "migrate" | "keep_schema" = "migrate",
): Promise<T> {
  // Loaded late, so that commands without a database start without its drivers.
  const { openInstance, readConfig } = await import("@countersign/server");
  const instance = await openInstance(readConfig(terminal.env), instanceLog(terminal), opening);
  try {
    return await work(instance);
  } catch (error) {
    // A closed pipe fails with EPIPE, as a lost database session does.
    if (terminal.isOutputFailure(error) || !instance.database.isFailure(error)) throw error;
    throw new CommandFailed(
      `the database connection was lost or a statement timed out (${(error as Error).message}): run countersign doctor, and check what was done before you run this again`,
    );
  } finally {
    await instance.close();
  }
}

export async function organizationNamed(instance: Instance, org_id: string): Promise<ListedOrganization> {
  const found = (await instance.organizations.list()).find((organization) => organization.org_id === org_id);
  if (found === undefined)
    throw new CommandFailed(`there is no organization ${org_id} (countersign orgs list shows them)`);
  return found;
}

/** Throws CommandFailed if there is no such key. */
export async function organizationOf(instance: Instance, key_id: string): Promise<string> {
  const org_id = await instance.organizations.ofKey(key_id);
  if (org_id === undefined) throw new CommandFailed(`there is no key ${key_id} (countersign keys list shows them)`);
  return org_id;
}
