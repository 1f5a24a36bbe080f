/** Whether the organizations are there: a dump may have left them out without a word. */
import { countLostOrganizations, type Database } from "@countersign/server";
import { type Finding, problem } from "./finding.ts";

/** Nothing where they are. */
export async function checkOrganizations(db: Database): Promise<Finding[]> {
  const lost = await db.system((query) => countLostOrganizations(query, null));
  if (lost === 0) return [];
  const are = lost === 1 ? "1 organization of keys or people is" : `${lost} organizations of keys or people are`;
  const text = `${are} not in this database, as after a dump that left out what row-level security hides`;
  return [problem("organizations", text, "restore a whole dump into a new database (docs/operating.md, Backups)")];
}
