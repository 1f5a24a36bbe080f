import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import { createClock } from "../../edge/clock.ts";
import { createIds } from "../../edge/ids.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { expireNow } from "../../testing/database/passing-time.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { deleteOldInvitations } from "../upkeep/old-rows.ts";
import { countInvitations, deleteInvitations, insertInvitation, listInvitations } from "./invitations.ts";
import { insertToken } from "./person-tokens.ts";

const { db } = await testDatabase();
const ids = createIds(createClock());
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;

async function invite(org_id: string, { email = "a@example.com", by = "key_1" } = {}): Promise<string> {
  const invitation_id = ids.next("invitation");
  const kept = { invitation_id, email, name: null, role: "admin", token_sha256: "ab".repeat(32) } as const;
  await db.system((query) => insertInvitation(query, org_id, kept, by));
  return invitation_id;
}
async function expired(org_id: string): Promise<string> {
  const invitation_id = await invite(org_id);
  await expireNow(db, "invitations", invitation_id);
  return invitation_id;
}
const open = async (org_id: string, limit = 9, before: string | null = null) =>
  (await db.system((query) => listInvitations(query, org_id, limit, before))).map((each) => each.invitation_id);
const count = (org_id: string) => db.system((query) => countInvitations(query, org_id));
const remove = async (org_id: string, which: Parameters<typeof deleteInvitations>[2]) =>
  (await db.system((query) => deleteInvitations(query, org_id, which))).map((each) => each.invitation_id).sort();

test("a list has the organization's unexpired invitations, newest first, below the cursor", async () => {
  const [own, other] = await organizations();
  await expired(own);
  const newest = [await invite(own), await invite(own), await invite(own)].sort().reverse();
  await invite(other);
  expect([await open(own), await count(own), await count(other)]).toEqual([newest, 3, 1]);
  expect(await open(own, 1, newest[0])).toEqual([newest[1]]);
});

test("an invitation is valid for a week, and expires together with the link of the same transaction", async () => {
  const [own] = await organizations();
  const kept = { invitation_id: ids.next("invitation"), email: "a@example.com", name: null, role: "admin" } as const;
  const token_sha256 = "cd".repeat(32);
  const made = await db.system(async (query) => {
    await insertToken(query, "invitation", token_sha256, own, {});
    return insertInvitation(query, own, { ...kept, token_sha256 }, "key_1");
  });
  expect(Date.parse(made.expires_at) - Date.parse(made.created_at)).toBe(limits.invitation_link_seconds * 1_000);
  expect(
    await db.query("select expires_at from person_tokens where token_sha256 = decode($1, 'hex')", [token_sha256]),
  ).toEqual([{ expires_at: made.expires_at }]);
});

test("invitations are deleted by id, address or rotation chain, and no others", async () => {
  const [own, other] = await organizations();
  const keys = ["key_first", "key_rotated", "key_other"];
  for (const [n, key_id] of keys.entries())
    await db.query(
      `insert into api_keys (org_id, key_id, key_sha256, lineage_id, environment, scope, role, created_at, expires_at, lifetime_seconds, person)
       values ($1, $2, sha256($2::text::bytea), $3, 'live', 'org', 'admin', now(), now(), 1, $3)`,
      [own, key_id, n < 2 ? "key_first" : key_id],
    );
  const byId = await invite(own, { email: "id@example.com", by: "usr_0" });
  const byAddress = await invite(own, { email: "Who@Example.com", by: "usr_0" });
  const byChain = [await invite(own, { by: "key_first" }), await invite(own, { by: "key_rotated" })];
  const kept = [await invite(own, { by: "key_other" }), await invite(own, { by: "usr_1" })];
  const theirs = [
    ...[await invite(other, { email: "who@example.com" }), await invite(other, { by: "usr_1" })],
    await invite(other, { by: "key_first" }),
  ];
  expect(await remove(own, { invitation_ids: theirs })).toEqual([]);
  expect(await remove(own, { invitation_ids: [byId] })).toEqual([byId]);
  expect(await remove(own, { email: "who@example.com" })).toEqual([byAddress]);
  expect(await remove(own, { sent_by_chains: ["key_first", "key_none"] })).toEqual(byChain.sort());
  expect([(await open(own)).sort(), (await open(other)).sort()]).toEqual([kept.sort(), theirs.sort()]);
});

test("rows that another node is deleting are skipped, and at most the limit is deleted", async () => {
  await db.query("delete from invitations");
  const [own] = await organizations();
  const old = [await expired(own), await expired(own), await invite(own)];
  const due = (rows: number) => db.system((query) => deleteOldInvitations(query, rows));
  await db.system(async (query) => {
    await query("select from invitations where invitation_id = $1 for update", [old[0]]);
    expect(await due(9)).toBe(1);
  });
  await expired(own);
  expect([await due(1), await due(9), await due(9)]).toEqual([1, 1, 0]);
  expect(await open(own)).toEqual([old[2]]);
});
