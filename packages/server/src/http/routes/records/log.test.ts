/** See docs/decisions/0063-a-log-that-strangers-can-check.md. */

import {
  hashesOf,
  isExtension,
  type Note,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signatureBy,
  type VerifierKey,
} from "@countersign/core";
import { beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../../testing/database/database.ts";
import { call } from "../../../testing/nodes/http-node.ts";
import { serviceNode } from "../../../testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../../testing/people/review.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
let of: Reviewed;
beforeAll(async () => {
  url = (await serviceNode(database, { config: { public_url: "https://log.example:8443" } })).url;
  of = await reviewedOrganization(db, url, { packs: [] });
});

const get = (path: string, key = of.operator) => call(url, "GET", `/v1/audit/log/${path}`, { key });
const rotate = (body: object, key = of.admin) => call(url, "POST", "/v1/audit/log/key/rotate", { key, body });
const keys = async (): Promise<{ verifier_key: string; retired_at: string | null }[]> => (await get("key")).json.keys;

async function newest(of_key = of.operator) {
  const { status, text } = await get("checkpoint", of_key);
  const note = status === 200 ? parseNote(text) : null;
  return note === null ? null : { note, checkpoint: parseCheckpoint(note.text) };
}

/** Waits until a checkpoint covers every entry. */
async function current() {
  await expect
    .poll(async () => {
      const [head] = await db.query<{ entries: number }>(
        "select max(entries) as entries from org_heads where org_id = $1",
        [of.org.org_id],
      );
      return (await newest())?.checkpoint?.size === head?.entries;
    })
    .toBe(true);
  const { note, checkpoint } = (await newest()) as {
    note: Note;
    checkpoint: NonNullable<ReturnType<typeof parseCheckpoint>>;
  };
  return { note, ...checkpoint };
}

test("checkpoint, tiles, proof and key agree, and the checkpoint covers new entries", async () => {
  const earlier = await current();
  expect(earlier.origin).toBe(`log.example:8443/${of.org.org_id}`);
  const [key] = (await keys()).map(({ verifier_key }) => parseVerifierKey(verifier_key));
  expect(signatureBy(earlier.note, key as VerifierKey)).not.toBeNull();
  await call(url, "POST", "/v1/intents", {
    key: of.agent,
    body: { intent: { agent: { id: "a" }, action: { verb: "read_page" } } },
  });
  const later = await current();
  expect(later.size).toBeGreaterThan(earlier.size);
  const tile = await fetch(`${url}/v1/audit/log/tile/0/000.p/${later.size}`, { headers: { "x-api-key": of.operator } });
  expect(tile.headers.get("content-type")).toBe("application/octet-stream");
  expect(tile.headers.get("cache-control")).toBe("private, max-age=31536000, immutable");
  const hashes = new Uint8Array(await tile.arrayBuffer());
  expect(hashes).toHaveLength(32 * later.size);
  const [root] = hashesOf([{ from: 0, to: later.size }], () => hashes);
  expect(root).toEqual(later.root);
  const { status, json } = await get(`consistency?from=${earlier.size}`);
  expect([status, json.consistency.to]).toEqual([200, later.size]);
  const proof = json.consistency.proof.map((each: string) => Buffer.from(each, "base64"));
  expect(isExtension(earlier, later, proof)).toBe(true);
});

test("a tile that the tree does not have is not found, and a size beyond it is refused", async () => {
  const { size } = await current();
  for (const path of ["0/000", `0/000.p/${size + 1}`, "0/001.p/1", "1/000.p/1", "0", "0/0", "entries/000", "0/000.p/0"])
    expect([path, (await get(`tile/${path}`)).status]).toEqual([path, 404]);
  expect((await get(`consistency?from=1&to=${size + 1}`)).status).toBe(400);
  expect((await get(`consistency?from=${size}&to=1`)).status).toBe(400);
  expect((await get("consistency?from=0")).status).toBe(400);
});

test("with a new key, both sign until the overlap ends, and the list keeps every key", async () => {
  await current();
  const rotated = await rotate({ overlap_days: 1 });
  expect(rotated.status).toBe(200);
  const both = await current();
  const [first, second] = await keys();
  expect(second?.verifier_key).toBe(rotated.json.key.verifier_key);
  expect([first?.retired_at === null, second?.retired_at]).toEqual([false, null]);
  const signers = (note: Note, listed: { verifier_key: string }[]) =>
    listed.map(({ verifier_key }) => signatureBy(note, parseVerifierKey(verifier_key) as VerifierKey) !== null);
  expect(signers(both.note, await keys())).toEqual([true, true]);
  await rotate({ overlap_days: 0 });
  const one = await current();
  expect(signers(one.note, await keys())).toEqual([false, false, true]);
  const { audit } = (await call(url, "GET", "/v1/audit?type=log_key_rotated", { key: of.admin })).json;
  expect(audit.map(({ data }: { data: object }) => data)).toMatchObject([{ overlap_days: 0 }, { overlap_days: 1 }]);
});

test("no more than four keys sign at a time", async () => {
  await current();
  for (let n = 0; n < 3; n += 1) expect((await rotate({ overlap_days: 90 })).status).toBe(200);
  expect((await rotate({})).status).toBe(409);
  expect((await rotate({ overlap_days: 0 })).status).toBe(200);
});

test("agents and reviewers read no log, and others never an organization's log", async () => {
  for (const key of [of.agent, of.reviewer]) expect((await get("checkpoint", key)).status).toBe(403);
  expect((await rotate({}, of.operator)).status).toBe(403);
  const other = await reviewedOrganization(db, url, { packs: [] });
  await expect
    .poll(async () => (await newest(other.operator))?.checkpoint?.origin)
    .toBe(`log.example:8443/${other.org.org_id}`);
});
