/** A witness as in C2SP tlog-witness, and what this service makes of its answers. */
import {
  cosignedAt,
  isExtension,
  keyIdOf,
  type Note,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  publicKeyOf,
  signatureBy,
  signatureLine,
  signatureTypes,
  signNote,
  type TreeHead,
  type VerifierKey,
} from "@countersign/core";
import { beforeAll, expect, test } from "vitest";
import type { Answered, HttpOut } from "../../ports.ts";
import { testDatabase } from "../../testing/database/database.ts";
import { call } from "../../testing/nodes/http-node.ts";
import { serviceNode } from "../../testing/nodes/service-node.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { reviewedOrganization } from "../../testing/people/review.ts";
import { askWitness, type Witness } from "./ask-witnesses.ts";

const database = await testDatabase();
const { db } = database;
let url: string;
beforeAll(async () => {
  url = (await serviceNode(database)).url;
});

const answer = (status: number, text: string): Answered => ({ status, body: Buffer.from(text), cache_control: null });
const time_s = 1_764_000_000;

/** Checks what C2SP tlog-witness demands, and keeps one checkpoint. */
class LocalWitness {
  readonly seed = Buffer.alloc(32, 9);
  readonly key = { name: "w.example/1", type: signatureTypes.cosignature, public_key: publicKeyOf(this.seed) };
  readonly asked: number[] = [];
  head: TreeHead = { size: 0, root: Buffer.alloc(0) };
  logKey: VerifierKey | null = null;
  away: Answered | null = null;
  forges = false;

  addCheckpoint(body: string): Answered {
    const split = body.indexOf("\n\n");
    const [first = "", ...proof] = body.slice(0, split).split("\n");
    const note = parseNote(body.slice(split + 2)) as Note;
    const checkpoint = parseCheckpoint(note.text);
    const old_size = Number(/^old (0|[1-9]\d*)$/.exec(first)?.[1]);
    this.asked.push(old_size);
    if (this.away !== null) return this.away;
    if (checkpoint === null || old_size > checkpoint.size) return answer(400, "");
    if (this.logKey === null || signatureBy(note, this.logKey) === null) return answer(403, "");
    if (old_size !== this.head.size) return answer(409, `${this.head.size}\n`);
    const hashes = proof.map((hash) => Buffer.from(hash, "base64"));
    const right = old_size === 0 ? proof.length === 0 : isExtension(this.head, checkpoint, hashes);
    if (!right) return answer(422, "");
    this.head = checkpoint;
    return answer(200, this.#cosigned(note.text));
  }

  #cosigned(text: string): string {
    const message = `cosignature/v1\ntime ${time_s}\n${this.forges ? text.replace("\n", "x\n") : text}`;
    const signed = parseNote(signNote(message, [{ name: this.key.name, seed: this.seed }])) as Note;
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(time_s));
    const signature = Buffer.concat([time, signed.signatures[0]?.signature ?? Buffer.alloc(0)]);
    return signatureLine({ name: this.key.name, key_id: keyIdOf(this.key), signature });
  }
}

async function witnessed() {
  const of = await reviewedOrganization(db, url, { packs: [] });
  const { org_id } = of.org;
  const get = (path: string) => call(url, "GET", `/v1/audit/log/${path}`, { key: of.operator });
  await expect.poll(async () => (await get("checkpoint")).status).toBe(200);
  const witness = new LocalWitness();
  witness.logKey = parseVerifierKey((await get("key")).json.keys[0].verifier_key);
  const told: string[] = [];
  const tell = (fields: object, message: string) => {
    if ("org_id" in fields && fields.org_id === org_id) told.push(message);
  };
  const posted = async (address: string, _: object, body: string | Uint8Array) =>
    address === "https://w.example/x/add-checkpoint" && String(body).includes(`/${org_id}\n`)
      ? witness.addCheckpoint(String(body))
      : answer(404, "");
  const runtime = {
    db: { tenant: db.tenant, system: (work: Parameters<typeof db.system>[0]) => db.system(work) } as typeof db,
    log: { ...silentLog, warn: tell, error: tell },
    httpOut: { ask: posted } as unknown as HttpOut,
  };
  const asks: Witness = { url: "https://w.example/x", key: witness.key };
  const ask = async () => {
    await db.query("update log_witnesses set next_at = '2000-01-01' where org_id = $1", [org_id]);
    await askWitness(runtime, asks, () => false);
  };
  /** Adds an entry and waits until a checkpoint covers it. */
  const grow = async () => {
    const before = parseCheckpoint((parseNote((await get("checkpoint?cosigned=false")).text) as Note).text)?.size ?? 0;
    await call(url, "POST", "/v1/intents", {
      key: of.agent,
      body: { intent: { agent: { id: "a" }, action: { verb: "read_page" } } },
    });
    await expect
      .poll(async () => parseCheckpoint((parseNote((await get("checkpoint")).text) as Note).text)?.size ?? 0)
      .toBeGreaterThan(before);
  };
  const state = async () => (await get("witnesses")).json.witnesses[0];
  return { org_id, get, witness, told, ask, grow, state };
}

test("a witness cosigns each new checkpoint from the size that it has, and the cosignature is in the note", async () => {
  const { get, witness, ask, grow, state, told } = await witnessed();
  expect((await get("checkpoint?cosigned=true")).status).toBe(404);
  await grow();
  await ask();
  const first = witness.head.size;
  await grow();
  await ask();
  expect(witness.asked).toEqual([0, first]);
  const note = parseNote((await get("checkpoint?cosigned=true")).text) as Note;
  expect(parseCheckpoint(note.text)).toEqual(witness.head);
  expect(note.signatures.map((line) => cosignedAt(note.text, line, witness.key))).toEqual([null, time_s]);
  expect(await state()).toMatchObject({
    ...{ name: "w.example/1", cosigned_size: witness.head.size, problem: null, failing_since: null },
    cosigned_at: "2025-11-24T16:00:00.000000Z",
  });
  expect(told).toEqual([]);
});

test("a witness that lost or missed an answer is asked again from its own size", async () => {
  const { org_id, witness, ask, grow, state } = await witnessed();
  await grow();
  await ask();
  const { size } = witness.head;
  await db.query("update log_witnesses set size = 0 where org_id = $1", [org_id]);
  await grow();
  await ask();
  expect(witness.asked).toEqual([0, 0, size]);
  expect(await state()).toMatchObject({ cosigned_size: witness.head.size, problem: null });
});

test("a witness that is away, refuses or forges is shown with its lag, and checkpoints go on without it", async () => {
  const { get, witness, ask, grow, state, told } = await witnessed();
  await grow();
  const outages: [Answered, string][] = [
    [{ failed: "unreachable", text: "The connection was refused." }, "The connection was refused."],
    [answer(500, ""), "it answered 500"],
    [answer(409, "many\n"), "it answered 409"],
    [answer(200, "— w.example/1 AAAA\n"), "its answer has no valid cosignature of its key"],
  ];
  for (const [away, problem] of outages) {
    witness.away = away;
    await ask();
    expect(await state()).toMatchObject({ cosigned_size: 0, cosigned_at: null, problem });
  }
  witness.away = null;
  witness.forges = true;
  await ask();
  expect((await state()).problem).toBe("its answer has no valid cosignature of its key");
  expect((await state()).behind).toBeGreaterThan(0);
  expect((await get("checkpoint")).text).not.toContain("w.example");
  expect(told).toHaveLength(4);
});

test("a witness that cosigned more entries than the log has is reported as a lost database", async () => {
  const { witness, ask, grow, told, state } = await witnessed();
  await grow();
  witness.head = { size: 1_000_000, root: Buffer.alloc(32) };
  await ask();
  expect((await state()).problem).toMatch(/^it cosigned 1000000 entries, but this log has \d+: the database lost data/);
  expect(told).toEqual([expect.stringContaining("a witness did not cosign the checkpoint: it cosigned 1000000")]);
});
