/** Upgrades a dump of the previous release (`filled.sql`). */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Decision, factCategoryNames } from "@countersign/contract";
import { factsOf } from "@countersign/core";
import { expect, onTestFinished, test } from "vitest";
import { type CategoryFacts, originIn } from "../../packages/core/src/facts/merge.ts";
import { verifyReviews } from "../../packages/server/src/store/audit/state/verify-reviews.ts";
import { verifyAudit } from "../../packages/server/src/store/audit/verify-audit.ts";
import { type ConnectionOptions, openClient } from "../../packages/server/src/store/database/connection.ts";
import { openDb } from "../../packages/server/src/store/database/db.ts";
import { migrate, readMigrations } from "../../packages/server/src/store/database/migrate.ts";
import { StartRefused } from "../../packages/server/src/store/database/start-refused.ts";
import { emptyDatabase, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { schemaText } from "../../packages/server/src/testing/database/schema-text.ts";
import { silentLog } from "../../packages/server/src/testing/nodes/silent-log.ts";
import { upgradeOnce } from "./upgrade-once.ts";

const schemas = join(import.meta.dirname, "schemas");
const newest_of_before = 33;

async function run<Row extends object>(connection: ConnectionOptions, text: string): Promise<Row[]> {
  const client = await openClient(connection, "test");
  try {
    await client.query("set app.org = '*'");
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a database of the previous release. `version`: an earlier schema, without rows. */
async function olderDatabase(version = newest_of_before): Promise<ConnectionOptions> {
  const database = await emptyDatabase();
  await migrate(database, silentLog, (await readMigrations(schemas)).slice(0, version));
  if (version === newest_of_before)
    await run(database, await readFile(join(import.meta.dirname, "filled.sql"), "utf8"));
  return database;
}

async function opened(connection: ConnectionOptions) {
  const db = openDb(connection, silentLog);
  onTestFinished(() => db.close());
  return db;
}

/** Ignores the order of columns, because columns added later come last. */
const sorted = (schema: string) =>
  schema.split("\n\n").map((table) => {
    const [name, ...lines] = table.trim().split("\n");
    return [name, ...lines.sort()];
  });

interface OldIntent {
  readonly intent_id: string;
  readonly intent: string;
  readonly facts: Record<string, CategoryFacts>;
  readonly decision: Decision;
  readonly resolution: object | null;
  readonly status: string;
  readonly key_id: string | null;
}

test("keeps every record in its place, with a valid trail", async () => {
  const database = await olderDatabase();
  const intents = await run<OldIntent>(database, "select *, intent::text as intent from intents order by intent_id");
  const trail = await run<{ org_id: string; seq: number; type: string; actor: string; data: Record<string, unknown> }>(
    database,
    "select org_id, seq, type, actor, at, intent_id, data from audit order by org_id, seq",
  );
  expect(intents.length).toBeGreaterThan(10);
  const upgraded = await upgradeOnce(database, silentLog);
  expect(upgraded).toEqual({ organizations: 3, decisions: intents.length, records: trail.length });

  const db = await opened(database);
  const now = await db.query(
    "select intent_id, intent::text as intent, facts, decision, resolution, status, actor from intents order by intent_id",
  );
  expect(now).toHaveLength(intents.length);
  for (const [index, row] of now.entries()) {
    const { facts, key_id, intent, ...before } = intents[index] as OldIntent;
    const { actor, facts: facts_now, intent: intent_now, ...rest } = row as Record<string, unknown>;
    expect(before).toMatchObject(rest);
    expect(actor).toBe(key_id);
    expect(JSON.parse(String(intent_now))).toMatchObject(JSON.parse(intent));
    expect(listed({ ...factsOf(facts_now) } as Record<string, CategoryFacts>)).toEqual(listed(facts));
  }
  const after = await db.query("select org_id, seq, type, actor, at, intent_id, data from audit order by org_id, seq");
  // The documents' hash moved from the record to the entry.
  expect(after).toEqual(
    trail.map(({ data: { record_sha256, ...data }, ...record }) => ({
      ...record,
      data: record.type === "decided" ? data : { ...data, ...(record_sha256 !== undefined && { record_sha256 }) },
    })),
  );
  for (const { org_id, entries } of await db.query<{ org_id: string; entries: number }>(
    "select org_id, entries from org_heads",
  )) {
    const found = await db.tenant(org_id, (query) => verifyAudit(query, org_id));
    expect(found).toMatchObject({ sound: true });
    expect(await db.tenant(org_id, (query) => verifyReviews(query, org_id).next())).toEqual({ done: true });
    const [last] = await db.query<{ entry: number }>(
      `select max(entry) as entry from ledger where org_id = '${org_id}'`,
    );
    expect(last?.entry).toBe(entries - 1);
  }
});

function listed(facts: Record<string, CategoryFacts>) {
  return factCategoryNames.flatMap((category) => {
    const found = facts[category];
    if (found === undefined) return [];
    return Object.entries(found.values).map(([field, value]) => [category, field, value, originIn(found, field)]);
  });
}

test.each([1, 12, newest_of_before])("turns schema %i into the schema of a new database", async (version) => {
  const database = await olderDatabase(version);
  expect(await upgradeOnce(database, silentLog)).not.toBeNull();
  const fresh = await testDatabase();
  const db = await opened(database);
  expect(await migrate(database, silentLog)).toBe((await readMigrations()).length);
  expect(sorted(await db.system(schemaText))).toEqual(sorted(await fresh.db.system(schemaText)));
  expect(await upgradeOnce(database, silentLog)).toBeNull();
});

test("the service refuses an older database unchanged, and says what to do", async () => {
  const database = await olderDatabase();
  const refused = migrate(database, silentLog);
  await expect(refused).rejects.toThrow(StartRefused);
  await expect(refused).rejects.toThrow(/nothing was changed\. .* `npm run upgrade-once`/);
  const [row] = await run<{ version: number }>(database, "select max(version) as version from schema_migrations");
  expect(row?.version).toBe(newest_of_before);
});

test("an empty database, and one with connected nodes, are refused", async () => {
  const empty = await emptyDatabase();
  await expect(upgradeOnce(empty, silentLog)).rejects.toThrow(/no Countersign in this database/);
  const database = await olderDatabase();
  const node = await openClient(database, "countersign");
  await expect(upgradeOnce(database, silentLog)).rejects.toThrow(/stop every node of the older version/);
  await node.end();
  await expect.poll(() => upgradeOnce(database, silentLog).catch(() => null)).not.toBeNull();
});

test("interrupted before its last step, it runs again", async () => {
  const database = await olderDatabase();
  await migrate(database, silentLog, await readMigrations(schemas));
  expect(await upgradeOnce(database, silentLog)).toMatchObject({ organizations: 3 });
});

test("an incomplete trail is reported, and nothing is changed", async () => {
  const database = await olderDatabase();
  await run(database, "delete from audit where type = 'key_created'");
  await expect(upgradeOnce(database, silentLog)).rejects.toThrow(/the audit trail of org_\w+ is not whole/);
  expect(await run(database, "select from intents limit 1")).toHaveLength(1);
});
