import { expect, test } from "vitest";
import { testDatabase } from "../../testing/database/database.ts";
import { testOrganization } from "../../testing/nodes/http-node.ts";
import { deleteContextSource, readContextSource, writeContextSource } from "./context-source.ts";
import { type ContextSubject, deleteStoredContext, readStoredContext, writeStoredContext } from "./stored-context.ts";

const { db } = await testDatabase();
const [at, later] = ["2026-11-21T03:00:00.000000Z", "2026-11-21T04:00:00.000000Z"];
const organizations = async () => [(await testOrganization(db)).org_id, (await testOrganization(db)).org_id] as const;
const target = '["account","a"]';
const subjects: readonly ContextSubject[] = [
  ...[
    { scope: "org" as const },
    { scope: "agent" as const, agent_id: "a" },
    { scope: "agent" as const, agent_id: target },
  ],
  { scope: "target", type: "account", identifier: "a" },
];

test("a document belongs to its subject, and a later one replaces it completely", async () => {
  const [own, other] = await organizations();
  const write = (org_id: string, subject: ContextSubject, text: string, when = at, by: string | null = "key_1") =>
    db.system((query) => writeStoredContext(query, org_id, subject, { text } as never, when, by));
  const read = async (org_id: string, ...asked: readonly ContextSubject[]) => {
    const found = await db.system((query) => readStoredContext(query, org_id, asked));
    return found.map(({ document, received_at, bytes: _, ...each }) => [each, document, received_at]);
  };
  for (const [n, subject] of subjects.entries()) await write(own, subject, `${n}`);
  await write(other, { scope: "org" }, "other");
  const keys = ["", "a", target, target];
  for (const [n, subject] of subjects.entries())
    expect(await read(own, subject)).toEqual([[{ scope: subject.scope, subject: keys[n] }, { text: `${n}` }, at]]);
  expect(await read(own, subjects[0] as ContextSubject, { scope: "agent", agent_id: "none" })).toHaveLength(1);
  expect(await read(own, ...subjects)).toHaveLength(4);

  await write(own, { scope: "org" }, "new", later, null);
  expect(await read(own, { scope: "org" })).toEqual([[{ scope: "org", subject: "" }, { text: "new" }, later]]);
  const [by] = await db.query("select updated_by from stored_context where org_id = $1 and scope = 'org'", [own]);
  expect(by).toEqual({ updated_by: null });

  const remove = (subject: ContextSubject) => db.system((query) => deleteStoredContext(query, own, subject));
  expect([await remove(subjects[2] as ContextSubject), await remove(subjects[2] as ContextSubject)]).toEqual([
    ...[true, false],
  ]);
  expect((await read(own, ...subjects)).map(([, document]) => document)).toEqual(
    expect.arrayContaining([{ text: "new" }, { text: "1" }, { text: "3" }]),
  );
  expect(await remove({ scope: "org" })).toBe(true);
  expect(await read(own, ...subjects)).toHaveLength(2);
  expect(await read(other, { scope: "org" })).toHaveLength(1);
});

test("an organization has one source, and a later one replaces it completely", async () => {
  const [own, other] = await organizations();
  const source = { url: "https://a.test/", timeout_ms: 100, secret_sealed: "sealed", created_at: at };
  const changed = { url: "https://b.test/", timeout_ms: 200, secret_sealed: "anew", created_at: later };
  const read = (org_id: string) => db.system((query) => readContextSource(query, org_id));
  expect(await read(own)).toBeNull();
  for (const org_id of [own, other]) await db.system((query) => writeContextSource(query, org_id, source));
  await db.system((query) => writeContextSource(query, own, changed));
  expect([await read(own), await read(other)]).toEqual([changed, source]);
  const remove = () => db.system((query) => deleteContextSource(query, own));
  expect([await remove(), await remove()]).toEqual([changed.url, undefined]);
  expect([await read(own), await read(other)]).toEqual([null, source]);
});
