/** The instance that a command works on, and the things all such commands share. */
import type { Instance, ListedOrganization } from "@countersign/server";
import { CommandFailed } from "./command-failed.ts";
import type { Terminal } from "./terminal.ts";

/** Who the audit trail names for what is done from the command line. */
export const commandLineActor = "command_line";

/** Writes warnings and errors as lines for people to standard error. */
export function instanceLog(terminal: Terminal): Instance["log"] {
  const print = (fields: object, message: string) => terminal.printError(logLine(fields, message));
  return { debug: () => undefined, info: () => undefined, warn: print, error: print };
}

function logLine(fields: object, message: string): string {
  const texts = Object.values(fields).map((value) => (value instanceof Error ? value.message : String(value)));
  return `countersign: ${[message, ...texts].join(": ")}`;
}

/**
 * Opens the instance that the environment names (`keep_schema` as in `openInstance`), runs `work` on it, and closes it again.
 * CommandFailed where its database goes away meanwhile, or takes longer for a statement than one may.
 */
export async function withInstance<T>(
  terminal: Terminal,
  work: (instance: Instance) => Promise<T>,
  options: { readonly keep_schema?: boolean } = {},
): Promise<T> {
  // Loaded here, so that commands that need no database start without its drivers.
  const { isConnectionLost, isOutOfTime, openInstance, readConfig } = await import("@countersign/server");
  const instance = await openInstance(readConfig(terminal.env), instanceLog(terminal), options);
  try {
    return await work(instance);
  } catch (error) {
    // Standard output that nobody reads any more fails with EPIPE, as a lost session does.
    if (terminal.isOutputFailure(error) || !(isConnectionLost(error) || isOutOfTime(error))) throw error;
    throw new CommandFailed(
      `the database went away or took too long in the middle of it (${(error as Error).message}): see whether it runs (countersign doctor), and what was done, before you run this again`,
    );
  } finally {
    await instance.close();
  }
}

/** All organizations of the instance, oldest first. */
export async function readOrganizations(instance: Instance): Promise<ListedOrganization[]> {
  const { listOrganizations } = await import("@countersign/server");
  return instance.db.system((query) => listOrganizations(query));
}

/** The organization with this id. */
export async function organizationNamed(instance: Instance, org_id: string): Promise<ListedOrganization> {
  const found = (await readOrganizations(instance)).find((organization) => organization.org_id === org_id);
  if (found === undefined)
    throw new CommandFailed(`there is no organization ${org_id} (countersign orgs list shows them)`);
  return found;
}

/** The organization that a key belongs to. */
export async function organizationOf(instance: Instance, key_id: string): Promise<string> {
  const { organizationOfKey } = await import("@countersign/server");
  const org_id = await instance.db.system((query) => organizationOfKey(query, key_id));
  if (org_id === undefined) throw new CommandFailed(`there is no key ${key_id} (countersign keys list shows them)`);
  return org_id;
}
