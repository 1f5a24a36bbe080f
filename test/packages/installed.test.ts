/** Follows docs/how-to/install.md in an empty folder outside the checkout, with PATH as a shell has it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";
import { pack } from "../../scripts/pack.ts";

const database = await testDatabase();
const { url } = await serviceNode(database);
const org = await reviewedOrganization(database.db, url, { packs: [] });

const folder = realpathSync(mkdtempSync(join(tmpdir(), "countersign-installed-")));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
const [release, empty, prefix] = ["release", "empty", "prefix"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
pack(release);
for (const directory of [empty, prefix]) mkdirSync(directory);

// Behind a proxy npm needs the certificates that this variable names.
const { HOME = "", NODE_EXTRA_CA_CERTS = "" } = process.env;
const PATH = [join(prefix, "bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(":");
const env = { HOME, PATH, NODE_EXTRA_CA_CERTS, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: org.admin };

const execute = promisify(execFile);

/** Does not block the service, which runs in this process. */
async function succeeds(command: string): Promise<string> {
  return (await execute("/bin/sh", ["-c", command], { cwd: empty, env })).stdout;
}

test("the checksums are those of the tarballs", async () => {
  expect((await succeeds(`cd ${release} && sha256sum -c SHA256SUMS`)).match(/: OK$/gm)).toHaveLength(5);
});

test("countersign runs in every folder, with the service and the key of the settings", async () => {
  await succeeds(`npm install --global --prefix ${prefix} --prefer-offline ${release}/countersign-0.1.0.tgz`);
  expect(await succeeds("countersign --version")).toBe("0.1.0\n");
  expect(await succeeds("countersign packs list")).toContain("tcpa");
  expect(await succeeds("countersign intents unknown")).toBe("no outcome is unknown\n");

  // The configuration of an MCP client.
  const server = join(empty, "server.mjs");
  writeFileSync(server, readFileSync(join(import.meta.dirname, "../mcp/mcp-server.mjs")));
  const modules = join(import.meta.dirname, "../../node_modules");
  symlinkSync(modules, join(empty, "node_modules"));
  const done = join(empty, "done");
  writeFileSync(done, "");
  const client = new Client({ name: "notes-desktop", version: "1.0.0" });
  const args = ["mcp", "--", "node", server, done];
  await client.connect(
    new StdioClientTransport({ command: "countersign", args, env: { ...env, COUNTERSIGN_API_KEY: org.agent } }),
  );
  onTestFinished(() => client.close());
  const answer = await client.callTool({ name: "send_money", arguments: { amount_usd: 5, to: "ann" } });
  expect(answer.content).toEqual([{ type: "text", text: "sent 5 to ann" }]);
});

test.each(["countersign-sdk", "countersign-mcp", "countersign-contract", "countersign-cel"])(
  "%s can be installed alone",
  async (name) => {
    const project = join(folder, name);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    await succeeds(`cd ${project} && npm install --prefer-offline --no-audit ${release}/${name}-0.1.0.tgz`);
    const module = name.replace("countersign-", "@countersign/");
    expect(
      await succeeds(
        `cd ${project} && node -e 'import("${module}").then((m) => console.log(Object.keys(m).length > 0))'`,
      ),
    ).toBe("true\n");
  },
);
