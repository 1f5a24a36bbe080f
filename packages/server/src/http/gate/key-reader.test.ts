import { expect, test } from "vitest";
import { createKeyReader } from "./key-reader.ts";

/** Returns a database whose statements end when the test says so, with the `rows` of the time of sending. */
function database() {
  const sent: { params: readonly unknown[]; end: () => void; fail: (error: Error) => void }[] = [];
  const rows: object[] = [];
  const named = <Row>(_statement: unknown, params: readonly unknown[]) =>
    new Promise<Row[]>((resolve, reject) => {
      const snapshot = [...rows] as Row[];
      sent.push({ params, end: () => resolve(snapshot), fail: reject });
    });
  return { sent, rows, reader: createKeyReader({ named } as never, "org_local") };
}

const bytes = (text: string) => Buffer.from(text);
const hash = (text: string) => bytes(text).toString("base64");
const until = (sent: readonly unknown[], count: number) => expect.poll(() => sent.length).toBe(count);

test("a caller that asks during a statement is answered by the next one, which sees changes made meanwhile", async () => {
  const { sent, rows, reader } = database();
  rows.push({ key_sha256: bytes("k"), revoked_us: null });
  const before = reader.read(hash("k"));
  await until(sent, 1);
  rows[0] = { key_sha256: bytes("k"), revoked_us: 1 };
  const after = [reader.read(hash("k")), reader.read(hash("k")), reader.read(hash("other"))];
  sent[0]?.end();
  expect(await before).toMatchObject({ revoked_us: null });
  await until(sent, 2);
  expect(sent[1]?.params).toEqual([[bytes("k"), bytes("other")]]);
  sent[1]?.end();
  expect(await Promise.all(after)).toEqual([rows[0], rows[0], undefined]);
  expect(sent).toHaveLength(2);
});

test("the same is true for open mode", async () => {
  const { sent, rows, reader } = database();
  rows.push({ key_ever_created: false, auth_epoch: 1 });
  const before = reader.openMode();
  await until(sent, 1);
  rows[0] = { key_ever_created: true, auth_epoch: 1 };
  const after = reader.openMode();
  sent[0]?.end();
  expect(await before).toMatchObject({ key_ever_created: false });
  await until(sent, 2);
  sent[1]?.end();
  expect(await after).toMatchObject({ key_ever_created: true });
});

test("a failed statement fails the callers that asked for it, and no later ones", async () => {
  const { sent, reader } = database();
  const before = reader.read(hash("k"));
  await until(sent, 1);
  const after = reader.read(hash("k"));
  sent[0]?.fail(new Error("gone"));
  await expect(before).rejects.toThrow("gone");
  await until(sent, 2);
  sent[1]?.end();
  expect(await after).toBeUndefined();
});
