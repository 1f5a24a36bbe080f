/** Finds missing organizations, because a dump may have left them out silently. */
import type { Instance } from "@countersign/server";
import { type Finding, problem } from "./finding.ts";

export async function checkOrganizations(instance: Instance): Promise<Finding[]> {
  const lost = await instance.organizations.countLost();
  if (lost === 0) return [];
  const are = lost === 1 ? "1 organization of keys or people is" : `${lost} organizations of keys or people are`;
  const text = `${are} not in this database; a dump may have left out rows that row-level security hides`;
  return [problem("organizations", text, "restore a whole dump into a new database (docs/how-to/back-up.md)")];
}
