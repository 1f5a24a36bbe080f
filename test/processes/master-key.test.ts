import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type CliResult, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { startCli } from "../../packages/cli/src/testing/start-cli.ts";
import { createSealer, masterKeyId } from "../../packages/server/src/edge/start/sealer.ts";
import { openClient } from "../../packages/server/src/store/database/connection.ts";
import { secretContext } from "../../packages/server/src/store/webhooks/webhooks.ts";
import { databaseUrl, testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { wholeService } from "../../packages/server/src/testing/nodes/whole-service.ts";

const [key_a, key_b, key_c] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const [id_a, id_b, id_c] = [key_a, key_b, key_c].map(masterKeyId);
const text = (...keys: Buffer[]) => keys.map((key) => key.toString("base64")).join(",");
const webhooks = 250;

async function sealedDatabase() {
  const { db, connection } = await testDatabase();
  const sealer = createSealer(key_a);
  const ids = Array.from({ length: webhooks }, (_, n) => `wh_${String(n).padStart(3, "0")}`);
  const rows = ids.map((id) => ({ id, sealed: sealer.seal(`secret of ${id}`, secretContext("org_1", id)) }));
  await db.query(
    `insert into webhooks (org_id, webhook_id, url, event_types, secret_sealed, active, description, created_at)
     select 'org_1', id, 'https://x.example', '[]', sealed, true, '', now()
     from json_to_recordset($1::json) as i(id text, sealed text)`,
    [JSON.stringify(rows)],
  );
  const env = (current: Buffer, ...others: Buffer[]) => ({
    DATABASE_URL: databaseUrl(connection),
    COUNTERSIGN_MASTER_KEY: text(current),
    COUNTERSIGN_OTHER_MASTER_KEYS: text(...others),
  });
  const stored = () =>
    db.query<{ webhook_id: string; secret_sealed: string }>(
      "select webhook_id, secret_sealed from webhooks order by webhook_id",
    );
  const count = async (prefix: string) =>
    (await stored()).filter(({ secret_sealed }) => secret_sealed.startsWith(prefix)).length;
  return { connection, env, stored, count };
}

function showsNoKey({ stdout, stderr }: Omit<CliResult, "code">): void {
  for (const key of [key_a, key_b, key_c])
    for (const encoding of ["base64", "base64url", "hex"] as const)
      expect(stdout + stderr).not.toContain(key.toString(encoding).slice(0, 20));
  expect(stdout + stderr).not.toContain("secret of");
}

test("a killed reseal loses nothing and resumes; status says when the former key may be removed", async () => {
  const { connection, env, stored, count } = await sealedDatabase();
  const settings = env(key_b, key_a);
  const before = await runCli(["secrets", "status", "--json"], settings);
  expect(JSON.parse(before.stdout)).toMatchObject({ key_id: id_b, other_key_ids: [id_a], needed_key_ids: [id_a] });
  const needed = await runCli(["secrets", "status"], settings);
  expect(needed).toMatchObject({ code: 0, stdout: expect.stringContaining(`The master key ${id_a} is still needed`) });

  // Locks a late row, so that the killed run cannot have finished.
  const holder = await openClient(connection, "countersign test");
  await holder.query("begin; set local app.org = '*'; select from webhooks where webhook_id = 'wh_200' for update");
  const cut = startCli(["secrets", "reseal", "--batch", "20"], settings);
  await cut.printed(/^webhooks: 200 sealed again$/m);
  cut.process.kill("SIGKILL");
  expect((await cut.finished).code).toBeNull();
  await holder.query("rollback");
  await holder.end();

  const both = createSealer(key_b, [key_a]);
  expect(await count(both.prefix)).toBeGreaterThanOrEqual(200);
  const opened = async (sealer: typeof both) =>
    (await stored()).map(({ webhook_id, secret_sealed }) =>
      sealer.open(secret_sealed, secretContext("org_1", webhook_id)),
    );
  const secrets = (await stored()).map(({ webhook_id }) => `secret of ${webhook_id}`);
  expect(await opened(both)).toEqual(secrets);

  const again = await runCli(["secrets", "reseal"], settings);
  expect(again).toMatchObject({ code: 0 });
  expect(await opened(createSealer(key_b))).toEqual(secrets);
  const after = await runCli(["secrets", "status"], settings);
  expect(after).toMatchObject({ code: 0 });
  expect(after.stdout).toContain(`No stored value needs the master key ${id_a}.`);
  const alone = await runCli(["secrets", "status", "--json"], env(key_b));
  expect(JSON.parse(alone.stdout)).toMatchObject({ needed_key_ids: [], unreadable: 0, key_id: id_b });
  for (const result of [before, needed, again, after, alone]) showsNoKey(result);
});

test("status, reseal, doctor and every start report a missing key, and change nothing", async () => {
  const { env, stored } = await sealedDatabase();
  const before = await stored();
  const settings = env(key_b, key_c);
  const status = await runCli(["secrets", "status"], settings);
  expect(status.code).toBe(1);
  expect(status.stdout).toContain("The keys that are set here do not open some values");
  expect(status.stdout).toContain(`No stored value needs the master key ${id_c}.`);
  const reseal = await runCli(["secrets", "reseal"], settings);
  expect(reseal.code).toBe(1);
  expect(reseal.stderr).toContain(`the keys that are set here do not open ${webhooks} values, which stay unchanged`);
  const doctor = await runCli(["doctor", "--json"], settings);
  const finding = ({ stdout }: CliResult) =>
    JSON.parse(stdout).find(({ check }: { check: string }) => check === "secrets");
  expect(doctor.code).toBe(1);
  expect(finding(doctor)).toMatchObject({
    state: "problem",
    text: expect.stringContaining(`${webhooks} of ${webhooks}`),
  });
  const service = await wholeService({ ...settings, COUNTERSIGN_DATA_DIR: tmpdir() });
  await service.stop();
  expect(service.printed()).toMatch(/"places":\["webhooks"\].*no master key that is set here opens some sealed values/);
  showsNoKey({ stdout: service.printed(), stderr: "" });
  expect(await stored()).toEqual(before);
  expect(finding(await runCli(["doctor", "--json"], env(key_b, key_a)))).toMatchObject({
    state: "note",
    text: `some of ${webhooks} sealed values still need the master key ${id_a}`,
  });
  expect(finding(await runCli(["doctor", "--json"], env(key_a)))).toMatchObject({ state: "ok" });
  const none = await runCli(["secrets", "reseal"], { DATABASE_URL: env(key_a).DATABASE_URL }, tmpdir());
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no master key") });
  for (const result of [status, reseal, doctor, none]) showsNoKey(result);
  const batch = await runCli(["secrets", "reseal", "--batch", "0"], settings);
  expect(batch).toMatchObject({ code: 1, stderr: expect.stringContaining("give a whole number from 1 to 1000.") });
});

test("a key file is not replaced if the master key is a setting, or if a service may run unseen", async () => {
  const data_dir = await mkdtemp(join(tmpdir(), "countersign-key-"));
  onTestFinished(() => rm(data_dir, { recursive: true, force: true }));
  await writeFile(join(data_dir, "master.key"), `${text(key_b)}\n`, { mode: 0o600 });
  const settings = { COUNTERSIGN_DATA_DIR: data_dir };
  const replace = (more: Record<string, string>, ...options: string[]) =>
    runCli(["secrets", "replace-key-file", ...options], { ...settings, ...more });
  const is_setting = await replace({ COUNTERSIGN_MASTER_KEY: text(key_a) });
  expect(is_setting).toMatchObject({ code: 1, stderr: expect.stringContaining("the master key is a setting") });
  const elsewhere = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nothing" };
  expect(await replace(elsewhere)).toMatchObject({ code: 1, stderr: expect.stringContaining("--stopped") });
  expect(await readFile(join(data_dir, "master.key"), "utf8")).toBe(`${text(key_b)}\n`);
  const replaced = await replace(elsewhere, "--stopped");
  expect(replaced).toMatchObject({ code: 0, stdout: expect.stringContaining(`${id_b} still open what they sealed`) });
  showsNoKey(replaced);
});
