import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { tokenKey } from "../../packages/server/src/testing/tokens.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
let of: Reviewed;
const folder = mkdtempSync(join(tmpdir(), "cli-issuers-"));
afterAll(() => rmSync(folder, { recursive: true }));
beforeAll(async () => {
  of = await reviewedOrganization(database.db, url, { packs: [] });
});

const cli = (key: string, ...args: string[]) => runCli([...args, "--url", url], { COUNTERSIGN_API_KEY: key });

test("an issuer is added with a file of keys, listed and removed", async () => {
  const file = join(folder, "keys.json");
  writeFileSync(file, JSON.stringify({ keys: [(await tokenKey("k1")).jwk] }));
  const args = ["--trust-domain", "prod.example", "--jwks-file", file, "--audience", "countersign", "other"];
  const added = await cli(of.admin, "issuers", "add", ...args, "--leeway", "5");
  expect([added.code, added.stderr]).toEqual([0, ""]);
  const [, issuer_id = ""] = /^(iss_\w+): tokens of spiffe:\/\/prod\.example are trusted\n$/.exec(added.stdout) ?? [];
  expect((await cli(of.operator, "issuers", "list")).stdout).toMatch(
    new RegExp(`^${issuer_id} +spiffe://prod\\.example +pasted keys +countersign, other`, "m"),
  );
  const refused = await cli(of.admin, "issuers", "add", "--issuer", "x", "--audience", "a");
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("Give exactly one of jwks_url and jwks."),
  ]);
  expect((await cli(of.admin, "issuers", "remove", issuer_id)).stdout).toBe(`${issuer_id} is removed\n`);
  expect((await cli(of.operator, "issuers", "list")).stdout).toBe("no token issuer is trusted\n");
});
