import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { s3Settings, s3Store } from "../../packages/server/src/testing/network/s3-store.ts";
import { testOrganization } from "../../packages/server/src/testing/nodes/http-node.ts";
import { webhookNode } from "../../packages/server/src/testing/nodes/webhook-node.ts";
import { whenFileIsDone } from "../../packages/server/src/testing/when-file-is-done.ts";

const database = await testDatabase();
const { url } = await webhookNode(database);
const store = await s3Store({ tls: true });
const org = await testOrganization(database.db);
const { api_key } = await org.key();

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(["streams", ...args, "--url", url, "--api-key", api_key], env);
const { secret_access_key, bucket, region, access_key_id } = s3Settings;
const place = ["--endpoint", store.endpoint, "--region", region, "--bucket", bucket, "--access-key-id", access_key_id];

test("a stream is added with a test object, listed with its lag, tested and removed", async () => {
  expect((await run(["list"])).stdout).toBe("no streams\n");
  const added = await run(["add", "siem", "--format", "ocsf", "--prefix", "audit", ...place], {
    AWS_SECRET_ACCESS_KEY: secret_access_key,
  });
  expect([added.code, added.stderr]).toEqual([0, ""]);
  const [stream_id = ""] = /str_\w+/.exec(added.stdout) ?? [];
  expect([...store.objects.keys()]).toContain("audit/countersign-test.json");
  const { stdout } = await run(["list"]);
  expect(stdout).toContain("siem");
  expect(stdout).toMatch(new RegExp(`${stream_id} +siem +ocsf +\\d+ entries, \\d+ s +${store.endpoint}/${bucket} +on`));
  expect(await run(["test", stream_id])).toMatchObject({ code: 0, stdout: "wrote audit/countersign-test.json\n" });
  store.fault = () => ({ status: 403, code: "AccessDenied" });
  const refused = await run(["test", stream_id]);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    "countersign: audit/countersign-test.json was not written: The store answered 403 AccessDenied.\n",
  ]);
  store.fault = () => null;
  expect((await run(["remove", stream_id])).stdout).toBe(`the stream ${stream_id} is removed\n`);
  expect((await run(["list"])).stdout).toBe("no streams\n");
});

test("without the secret the command says which variable it needs, and creates nothing", async () => {
  const { code, stderr } = await run(["add", "siem", ...place]);
  expect([code, stderr]).toEqual([
    1,
    "countersign: set AWS_SECRET_ACCESS_KEY to the secret access key, or give --file\n",
  ]);
  expect((await run(["list"])).stdout).toBe("no streams\n");
});

test("a wrong secret shows at once", async () => {
  const { code, stdout, stderr } = await run(["add", "siem", ...place], { AWS_SECRET_ACCESS_KEY: "wrong" });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^added the stream str_/);
  expect(stderr).toContain("The store answered 403 SignatureDoesNotMatch.");
});

test("files below the directory of the service", async () => {
  const stream_dir = join(tmpdir(), `cli-streams-${process.pid}`);
  whenFileIsDone(() => rm(stream_dir, { recursive: true, force: true }));
  const node = await webhookNode(database, { config: { stream_dir } });
  const key = ["--url", node.url, "--api-key", api_key];
  const added = await runCli(["streams", "add", "archive", "--file", "--from", "2026-01-01T00:00:00Z", ...key]);
  expect([added.code, added.stderr]).toEqual([0, ""]);
  expect((await runCli(["streams", "list", ...key])).stdout).toMatch(/archive +jsonl .* files +on/);
});
