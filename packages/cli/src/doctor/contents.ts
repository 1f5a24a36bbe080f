/** Whether this program, with the keys that are set here, can work with what is stored. */
import { type Config, type ConnectionOptions, type Log, openDb } from "@countersign/server";
import type { Finding } from "./finding.ts";
import { checkOrganizations } from "./organizations.ts";
import { checkPolicies } from "./policies.ts";
import { checkSecrets } from "./secrets.ts";

/** What a migrated database has lost, what is sealed in it, and what is in force. */
export async function checkContents(config: Config, connection: ConnectionOptions, log: Log): Promise<Finding[]> {
  const db = openDb(connection, log);
  try {
    return [...(await checkOrganizations(db)), ...(await checkSecrets(config, db)), ...(await checkPolicies(db))];
  } finally {
    await db.close();
  }
}
