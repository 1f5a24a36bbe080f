/** Which invitations are open, and which go with whom. */
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { deleteOldInvitations } from "../upkeep/old-rows.ts";
import { countInvitations, deleteInvitations, insertInvitation, listInvitations } from "./invitations.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const at = (minute: number) => `2026-11-21T03:${String(minute).padStart(2, "0")}:00.000000Z`;
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;

async function invite(org_id: string, { email = "a@example.com", by = "key_1", expires = 30 } = {}): Promise<string> {
  const invitation_id = ids.next("invitation");
  const token_sha256 = "ab".repeat(32);
  const kept = {
    invitation_id,
    email,
    role: "admin",
    token_sha256,
    created_at: at(0),
    expires_at: at(expires),
  } as const;
  await db.system((query) => insertInvitation(query, org_id, kept, by));
  return invitation_id;
}
const open = async (org_id: string, minute = 0, limit = 9, before: string | null = null) =>
  (await db.system((query) => listInvitations(query, org_id, at(minute), limit, before))).map(
    (each) => each.invitation_id,
  );
const count = (org_id: string, minute: number) => db.system((query) => countInvitations(query, org_id, at(minute)));
const remove = async (org_id: string, which: Parameters<typeof deleteInvitations>[2]) =>
  (await db.system((query) => deleteInvitations(query, org_id, which))).map((each) => each.invitation_id).sort();

test("open ones are the organization's whose time is not over, newest first, below the cursor", async () => {
  const [own, other] = await organizations();
  const [late, short, third] = [await invite(own), await invite(own, { expires: 20 }), await invite(own)] as const;
  await invite(other);
  const newest = [late, short, third].sort().reverse();
  expect([await open(own, 19), await count(own, 19)]).toEqual([newest, 3]);
  expect([await open(own, 20), await count(own, 20)]).toEqual([newest.filter((each) => each !== short), 2]);
  expect(await open(own, 0, 1, newest[0])).toEqual([newest[1]]);
  expect([await count(own, 30), await count(other, 29)]).toEqual([0, 1]);
});

test("what is withdrawn by id, address, sender or chain of keys takes nothing else along", async () => {
  const [own, other] = await organizations();
  const keys = ["key_first", "key_rotated", "key_other"];
  for (const [n, key_id] of keys.entries())
    await db.query(
      `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_at, expires_at, lifetime_seconds)
       values ($1, $2, sha256($2::text::bytea), $3, 'live', 'org', 'admin', now(), now(), 1)`,
      [own, key_id, n < 2 ? "key_first" : key_id],
    );
  const byId = await invite(own, { email: "id@example.com", by: "usr_0" });
  const byAddress = await invite(own, { email: "Who@Example.com", by: "usr_0" });
  const bySender = [await invite(own, { by: "usr_1" }), await invite(own, { by: "usr_1", email: "b@example.com" })];
  const byChain = [await invite(own, { by: "key_first" }), await invite(own, { by: "key_rotated" })];
  const kept = [await invite(own, { by: "key_other" }), await invite(own, { by: "usr_2" })];
  const theirs = [
    ...[await invite(other, { email: "who@example.com" }), await invite(other, { by: "usr_1" })],
    await invite(other, { by: "key_first" }),
  ];
  expect(await remove(own, { invitation_id: theirs[0] as string })).toEqual([]);
  expect(await remove(own, { invitation_id: byId })).toEqual([byId]);
  expect(await remove(own, { email: "who@example.com" })).toEqual([byAddress]);
  expect(await remove(own, { invited_by: "usr_1" })).toEqual(bySender.sort());
  expect(await remove(own, { sent_by_chain: "key_first" })).toEqual(byChain.sort());
  expect([(await open(own)).sort(), (await open(other)).sort()]).toEqual([kept.sort(), theirs.sort()]);
});

test("what another node is deleting is left to it, and no more than asked for goes", async () => {
  await db.query("delete from invitations");
  const [own] = await organizations();
  const old = [
    await invite(own, { expires: 10 }),
    await invite(own, { expires: 10 }),
    await invite(own, { expires: 11 }),
  ];
  const due = (rows: number) => db.system((query) => deleteOldInvitations(query, at(10), rows));
  await db.system(async (query) => {
    await query("select from invitations where invitation_id = $1 for update", [old[0]]);
    expect(await due(9)).toBe(1);
  });
  await invite(own, { expires: 10 });
  expect([await due(1), await due(9), await due(9)]).toEqual([1, 1, 0]);
  expect(await open(own)).toEqual([old[2]]);
});
