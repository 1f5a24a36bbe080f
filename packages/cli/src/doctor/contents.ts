/** Whether this program, with the keys that are set here, can work with what is stored. */
import { type Config, type ConnectionOptions, type Log, openDb } from "@countersign/server";
import type { Output } from "../terminal.ts";
import type { Finding } from "./finding.ts";
import { checkOrganizations } from "./organizations.ts";
import { checkPolicies } from "./policies.ts";
import { checkSecrets } from "./secrets.ts";

/** Finds what a migrated database has lost, what is sealed in it, and what is in force. `stderr` shows how far it is. */
export async function checkContents(
  config: Config,
  connection: ConnectionOptions,
  log: Log,
  stderr: Output,
): Promise<Finding[]> {
  const db = openDb(connection, log);
  try {
    return [
      ...(await checkOrganizations(db)),
      ...(await checkSecrets(config, db)),
      ...(await checkPolicies(db, stderr)),
    ];
  } finally {
    await db.close();
  }
}
