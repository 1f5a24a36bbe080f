import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { canVerify, verifyReceipt } from "./index.ts";

interface Vector {
  readonly name: string;
  readonly receipt: string;
  readonly keys: readonly string[];
  readonly known?: { readonly checkpoint: string; readonly proof: readonly string[] };
  readonly proved: readonly string[];
  readonly not_proved: readonly string[];
  readonly forgeries: readonly {
    readonly name: string;
    readonly receipt: string;
    readonly known?: Vector["known"];
    readonly check: string;
    readonly entry: number | null;
  }[];
}

const file = new URL("../../../../test/evidence/vectors/receipts.json", import.meta.url);
const vectors: readonly Vector[] = JSON.parse(readFileSync(file, "utf8"));
const encoder = new TextEncoder();

describe.each(vectors.map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
  const { receipt, keys, known, forgeries } = vector;

  test("proves what the vector says, as text and as bytes", async () => {
    const expected = { ok: true, proved: vector.proved, not_proved: vector.not_proved };
    expect(await verifyReceipt(receipt, { keys, known })).toMatchObject(expected);
    expect(await verifyReceipt(encoder.encode(receipt), { keys, known })).toMatchObject(expected);
  });

  test.each(forgeries.map((forgery) => [forgery.name, forgery] as const))("refuses %s", async (_name, forgery) => {
    const verdict = await verifyReceipt(forgery.receipt, { keys, known: forgery.known ?? known });
    expect(verdict).toMatchObject({ ok: false, check: forgery.check, entry: forgery.entry });
  });
});

test.each([0, 2])("refuses a change of any byte of receipt %s", async (at) => {
  const { receipt, keys } = vectors[at] as Vector;
  const bytes = encoder.encode(receipt);
  const accepted: number[] = [];
  for (let place = 0; place < bytes.length; place += 1) {
    const forged = bytes.slice();
    // Another bit in each round, so that letters change their case, and digits their value.
    forged[place] = (bytes[place] as number) ^ (1 << (place % 8));
    if ((await verifyReceipt(forged, { keys })).ok) accepted.push(place);
  }
  expect(accepted).toEqual([]);
});

test("refuses a receipt that lost or gained a byte anywhere", async () => {
  const { receipt, keys } = vectors[2] as Vector;
  const accepted: number[] = [];
  for (let place = 0; place <= receipt.length; place += 1) {
    const [before, after] = [receipt.slice(0, place), receipt.slice(place)];
    const shorter = after === "" ? before.slice(1) : before + after.slice(1);
    if ((await verifyReceipt(shorter, { keys })).ok) accepted.push(place);
    if ((await verifyReceipt(`${before} ${after}`, { keys })).ok) accepted.push(place);
  }
  expect(accepted).toEqual([]);
});

test("returns the entries with their parsed documents", async () => {
  const { receipt, keys } = vectors[1] as Vector;
  const verdict = await verifyReceipt(receipt, { keys });
  if (!verdict.ok) throw new Error(verdict.reason);
  expect(verdict.entries.map(({ type }) => type)).toEqual(["decided", "voted", "reviewed", "claimed", "observed"]);
  expect(verdict.entries[1]?.documents).toEqual({ data: { comment: "checked by phone", outcome: "approve" } });
});

test("throws for keys that are none, that have a wrong id, or that are a witness's alone", async () => {
  const { receipt, keys } = vectors[1] as Vector;
  const [, key, witness] = keys as readonly [string, string, string];
  const wrong_id = key.replace(/\+[0-9a-f]{8}\+/, "+00000000+");
  for (const given of [[], [witness], [""], ["key"], [wrong_id], [`${key}=`], [key, key.slice(0, -1)]])
    await expect(verifyReceipt(receipt, { keys: given })).rejects.toThrow(TypeError);
});

test("throws for a known checkpoint that no given key signed", async () => {
  const [, other, , compared] = vectors as readonly [Vector, Vector, Vector, Vector];
  const { known } = compared;
  await expect(verifyReceipt(other.receipt, { keys: other.keys, known })).rejects.toThrow("not signed by a key");
  const checkpoint = known?.checkpoint.replace("\n37\n", "\n38\n") ?? "";
  const forged = { checkpoint, proof: known?.proof ?? [] };
  await expect(verifyReceipt(compared.receipt, { keys: compared.keys, known: forged })).rejects.toThrow("not valid");
});

test("refuses a receipt larger than 32 MiB before it is read", async () => {
  const { keys } = vectors[0] as Vector;
  expect(await verifyReceipt(" ".repeat(32 * 1024 * 1024 + 1), { keys })).toMatchObject({ ok: false, check: "size" });
});

test("knows that this runtime has Ed25519", async () => {
  expect(await canVerify()).toBe(true);
});
