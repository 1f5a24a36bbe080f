/** Whether the organizations are there: a dump may have left them out without a word. */
import type { Instance } from "@countersign/server";
import { type Finding, problem } from "./finding.ts";

/** Returns a finding if organizations are missing. */
export async function checkOrganizations(instance: Instance): Promise<Finding[]> {
  const lost = await instance.organizations.countLost();
  if (lost === 0) return [];
  const are = lost === 1 ? "1 organization of keys or people is" : `${lost} organizations of keys or people are`;
  const text = `${are} not in this database, as after a dump that left out what row-level security hides`;
  return [
    problem("organizations", text, "restore a whole dump into a new database (docs/how-to/operating.md, Backups)"),
  ];
}
