import { formatTimestampUs } from "@countersign/core";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { anyCharacter, runs } from "../../../../../scripts/property-runs.ts";
import { type TestDatabase, testDatabase } from "../../testing/database/database.ts";
import { type BinaryType, type BinaryValue, columnOf } from "./binary.ts";

let db: TestDatabase["db"];
beforeAll(async () => {
  ({ db } = await testDatabase());
});

const spelled: Record<BinaryType, string> = {
  text: "v",
  json: "v::text",
  bigint: "v::text",
  bytea: "encode(v, 'hex')",
  timestamptz: `to_char(v at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
};

async function read(type: BinaryType, values: readonly BinaryValue[]): Promise<(string | null)[]> {
  const sql = `select ${spelled[type]} as v from unnest($1::${type}[]) with ordinality as t(v, n) order by n`;
  return (await db.query<{ v: string | null }>(sql, [columnOf(type, values)])).map(({ v }) => v);
}

const digits = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("hex"));
const text = fc.string({ unit: anyCharacter }).map((each) => each.replaceAll("\0", "0"));
const values: Record<BinaryType, fc.Arbitrary<BinaryValue>> = {
  text,
  json: text.map((each) => JSON.stringify(each)),
  bigint: fc.maxSafeInteger(),
  bytea: digits,
  timestamptz: fc.integer({ min: 0, max: 4_102_444_799_999_999 }).map(formatTimestampUs),
};

test.each(Object.entries(values) as [BinaryType, fc.Arbitrary<BinaryValue>][])("%s[]", async (type, value) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(value), { maxLength: 20 }), async (written) => {
      expect(await read(type, written)).toEqual(written.map((each) => (each === null ? null : String(each))));
    }),
    { numRuns: runs(50) },
  );
});

test("an invalid time or hash is refused before it is sent", () => {
  for (const none of ["", "yesterday", "2026-02-30T00:00:00.000000Z"])
    expect(() => columnOf("timestamptz", ["2026-01-02T03:04:05.000006Z", none])).toThrow(TypeError);
  for (const none of ["abc", "0g", "zz"]) expect(() => columnOf("bytea", ["00", none])).toThrow(TypeError);
});
