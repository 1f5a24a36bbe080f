import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { letPass } from "../../testing/database/passing-time.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { testPerson } from "../../testing/people/person.ts";
import { insertInvitation } from "./invitations.ts";
import {
  deleteSingleSignOn,
  hasIdentity,
  organizationsOfDomain,
  otherOrganizationsIn,
  readIdentity,
  readSingleSignOn,
  type StoredSingleSignOn,
  writeIdentity,
  writeSingleSignOn,
} from "./single-sign-on.ts";

const { db } = await testDatabase();
const at = "2026-11-21T03:00:00.000000Z";
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;
const provider = (org_id: string, ...email_domains: string[]): StoredSingleSignOn => ({
  ...{ org_id, issuer: `https://${org_id}.test`, client_id: "client", secret_sealed: "sealed", email_domains },
  ...{ default_role: "reviewer", updated_at: at },
});
const write = (row: StoredSingleSignOn) => db.system((query) => writeSingleSignOn(query, row));
const read = (org_id: string) => db.system((query) => readSingleSignOn(query, org_id));
const ofDomain = async (domain: string) => (await db.system((query) => organizationsOfDomain(query, domain))).sort();

test("a provider replaces the earlier one completely, including its domains", async () => {
  const [own, other] = await organizations();
  await write(provider(own, "a.test", "b.test"));
  await write(provider(other, "b.test", "c.test"));
  expect([await ofDomain("a.test"), await ofDomain("b.test"), await ofDomain("d.test")]).toEqual([
    ...[[own], [own, other].sort(), []],
  ]);
  const changed: StoredSingleSignOn = {
    ...{ org_id: own, issuer: "https://new.test", client_id: "new", secret_sealed: "new", email_domains: ["d.test"] },
    ...{ default_role: "auditor", updated_at: "2026-11-21T04:00:00.000000Z" },
  };
  await write(changed);
  expect([await read(own), await read(other)]).toEqual([changed, provider(other, "b.test", "c.test")]);
  expect([await ofDomain("a.test"), await ofDomain("b.test"), await ofDomain("d.test")]).toEqual([[], [other], [own]]);
  const remove = () => db.system((query) => deleteSingleSignOn(query, own));
  expect([await remove(), await remove()]).toEqual([true, false]);
  expect([await read(own), await read(other)]).toEqual([undefined, provider(other, "b.test", "c.test")]);
  expect([await ofDomain("d.test"), await ofDomain("c.test")]).toEqual([[], [other]]);
});

test("others in a domain are people and open invitations of other organizations, in any case of the address", async () => {
  const [own, other] = await organizations();
  const others = (...domains: string[]) => db.system((query) => otherOrganizationsIn(query, own, domains));
  await testPerson(db, own, { email: "a@met.test", role: "admin" });
  await testPerson(db, other, { email: "b@not-met.test", role: "admin" });
  expect(await others("met.test")).toEqual([]);
  await testPerson(db, other, { email: "C@Met.TEST", role: "admin" });
  expect(await others("met.test", "x.test")).toEqual([{ org_id: other, domain: "met.test" }]);
  const met = { invitation_id: "inv_met", email: "d@Asked.test", name: null } as const;
  const invitation = { ...met, role: "admin", token_sha256: "aa" } as const;
  await db.system((query) => insertInvitation(query, other, invitation, "usr_1"));
  expect(await others("asked.test")).toEqual([{ org_id: other, domain: "asked.test" }]);
  await letPass(db, limits.invitation_link_seconds);
  expect(await others("asked.test")).toEqual([]);
});

test("an identity belongs to one organization, issuer and subject, and a later one replaces it", async () => {
  const [own, other] = await organizations();
  const note = (org_id: string, issuer: string, subject: string, user_id: string) =>
    db.system((query) => writeIdentity(query, { org_id, issuer, subject, user_id }, at));
  const find = (org_id: string, issuer: string, subject: string) =>
    db.system((query) => readIdentity(query, org_id, issuer, subject));
  const has = (org_id: string, issuer: string, user_id: string) =>
    db.system((query) => hasIdentity(query, org_id, issuer, user_id));
  await note(own, "https://a.test", "s", "usr_1");
  expect([await find(own, "https://a.test", "s"), await has(own, "https://a.test", "usr_1")]).toEqual(["usr_1", true]);
  for (const [org_id, issuer, subject, user_id] of [
    [other, "https://a.test", "s", "usr_1"],
    [own, "https://b.test", "s", "usr_1"],
    [own, "https://a.test", "t", "usr_2"],
  ] as const) {
    expect(await find(org_id, issuer, subject)).toBeUndefined();
    expect(await has(org_id, issuer, user_id)).toBe(false);
  }
  await note(own, "https://a.test", "s", "usr_2");
  expect(await find(own, "https://a.test", "s")).toBe("usr_2");
});
