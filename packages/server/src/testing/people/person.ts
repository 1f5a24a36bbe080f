/** Stored rows only, without passwords, mails and sessions. */
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import type { Database } from "../../store/database/db.ts";
import { insertPerson, type Person } from "../../store/people/people.ts";
import { testOrganization } from "../nodes/http-node.ts";

const ids = createIds(createClock());

/** By default with a unique address. */
export async function testPerson(db: Database, org_id: string, wanted: Partial<Person> = {}): Promise<Person> {
  const user_id = ids.next("user");
  const person: Person = {
    ...{ org_id, user_id, email: `${user_id}@example.com`, role: "reviewer", password_hash: null, totp_sealed: null },
    name: null,
    ...{
      mfa_enabled: false,
      notify: true,
      mail_rhythm: "at_once",
      digest_hour: 7,
      created_at: "2026-11-21T03:00:00.000000Z",
      last_seen_at: null,
      ...wanted,
    },
  };
  if (!(await db.system((query) => insertPerson(query, person)))) throw new Error(`${person.email} is taken`);
  return person;
}

/** Creates two people of one organization, and one of another. */
export async function testPeople(db: Database, wanted: Partial<Person> = {}) {
  const { org_id } = await testOrganization(db);
  const { org_id: other } = await testOrganization(db);
  return [
    await testPerson(db, org_id, wanted),
    await testPerson(db, org_id, wanted),
    await testPerson(db, other, wanted),
  ] as const;
}
