import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashesOf, rangeProofRanges } from "@countersign/core";
import { verifyReceipt } from "@countersign/sdk/verify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openZip } from "../../packages/cli/src/evidence/zip-reader.ts";
import { createZip } from "../../packages/cli/src/evidence/zip-writer.ts";
import { startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { beginCli, runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import {
  activatePayPolicy,
  blockedBody,
  heldBody,
  type Reviewed,
  reviewedOrganization,
} from "../../packages/server/src/testing/people/review.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-evidence-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const database = await testDatabase();
const { url } = await serviceNode(database, { config: { public_url: "https://log.example" } });

type Files = ReadonlyMap<string, Buffer>;

let of: Reviewed;
let key: string;
let archive: string;
let files: Files;
const from = new Date(Date.now() - 60_000).toISOString();

async function submitted(body: object): Promise<string> {
  const { status, json } = await call(url, "POST", "/v1/intents", { key: of.agent, body });
  expect(status).toBe(201);
  return json.intent_id;
}

const evidence = (args: readonly string[], api_key = of.operator) =>
  runCli(["evidence", ...args, "--url", url], { COUNTERSIGN_API_KEY: api_key });
const verified = (path: string, ...more: string[]) => runCli(["evidence", "verify", path, "--key", key, ...more]);

async function unzipped(path: string): Promise<Map<string, Buffer>> {
  const zip = await openZip(path);
  const found = new Map<string, Buffer>();
  for (const name of zip.names) found.set(name, await zip.bytes(name, 1 << 26));
  zip.close();
  return found;
}

async function zipped(name: string, content: Files): Promise<string> {
  const path = join(folder, name);
  rmSync(path, { force: true });
  const zip = createZip(path);
  for (const [file, bytes] of content) await zip.add(file, bytes);
  await zip.finish();
  return path;
}

/** Returns the files with others in their places, and a manifest with their hashes. */
function forged(changes: Readonly<Record<string, Buffer | string | null>>, manifest_changes: object = {}): Files {
  const changed = new Map(files);
  for (const [name, content] of Object.entries(changes))
    if (content === null) changed.delete(name);
    else changed.set(name, Buffer.from(content));
  changed.delete("MANIFEST.json");
  const sums = [...changed].map(([name, bytes]) => [name, createHash("sha256").update(bytes).digest("hex")]);
  const manifest = { ...JSON.parse(textOf("MANIFEST.json")), ...manifest_changes, files: Object.fromEntries(sums) };
  return changed.set("MANIFEST.json", Buffer.from(JSON.stringify(manifest)));
}

const textOf = (name: string): string => files.get(name)?.toString("utf8") ?? "";
const linesOf = (name: string): string[] => textOf(name).split("\n").slice(0, -1);
const receiptNames = () => [...files.keys()].filter((name) => name.startsWith("receipts/"));

beforeAll(async () => {
  of = await reviewedOrganization(database.db, url);
  await activatePayPolicy(url, of, "ask", { when: 'params.ask == "people"', escalation: {} });
  const secret = { ...heldBody, intent: { ...heldBody.intent, payload: { content: { password: "correct horse" } } } };
  for (const body of [heldBody, blockedBody, secret]) await submitted(body);
  const asked = await submitted({
    intent: { agent: { id: "a" }, action: { verb: "pay" }, payload: { content: { ask: "people" } } },
  });
  const { escalations } = (await call(url, "GET", "/v1/escalations?status=pending", { key: of.reviewer })).json;
  const review = escalations.find(({ intent_id }: { intent_id: string }) => intent_id === asked);
  const ruling = { key: of.reviewer, body: { outcome: "block", comment: "<b>no</b>" } };
  expect((await call(url, "POST", `/v1/escalations/${review.escalation_id}/decision`, ruling)).status).toBe(200);
  await call(url, "POST", "/v1/agents/a/freeze", {
    key: of.operator,
    body: { mode: "block", reason: "it pays twice" },
  });
  const erased = await submitted(heldBody);
  await call(url, "DELETE", `/v1/intents/${erased}/content`, { key: of.admin });
  archive = join(folder, "november.zip");
  const { code, stderr } = await evidence(["--from", from, "--output", archive]);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(
    /^5 decisions with receipts, \d+ audit records, [\d,]+ bytes written to .*november\.zip, up to audit record \d+\nsha256 [0-9a-f]{64}\n$/,
  );
  expect(stderr).toContain(createHash("sha256").update(readFileSync(archive)).digest("hex"));
  files = await unzipped(archive);
  key = (await call(url, "GET", "/v1/audit/log/key", { key: of.operator })).json.keys[0].verifier_key;
});

test("the archive has a receipt of each decision, and the SDK verifies all of them under one checkpoint", async () => {
  expect(receiptNames()).toHaveLength(5);
  const ids = linesOf("records/decisions.jsonl").map((line) => JSON.parse(line).intent.intent_id);
  expect(receiptNames().sort()).toEqual(ids.map((id: string) => `receipts/${id}.json`).sort());
  for (const name of receiptNames()) {
    const verdict = await verifyReceipt(files.get(name) as Buffer, { keys: [key] });
    expect(verdict).toMatchObject({ ok: true });
    expect(JSON.parse(textOf(name)).checkpoint).toBe(textOf("log/checkpoint.txt"));
  }
  expect([...files.values()].map((bytes) => bytes.toString("utf8")).join("")).not.toContain("correct horse");
  expect(statSync(archive).mode & 0o777).toBe(0o600);
});

test("another program reads the archive", () => {
  const script =
    "import hashlib,json,sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; " +
    "print(json.dumps({n: hashlib.sha256(z.read(n)).hexdigest() for n in z.namelist()}))";
  const sums = JSON.parse(execFileSync("python3", ["-c", script, archive], { encoding: "utf8" }));
  delete sums["MANIFEST.json"];
  expect(sums).toEqual(JSON.parse(textOf("MANIFEST.json")).files);
});

test("a receipt of the archive is that of the single request, but for a later checkpoint", async () => {
  for (const name of receiptNames()) {
    const [, intent_id] = /(int_\w+)/.exec(name) ?? [];
    const single = (await call(url, "GET", `/v1/intents/${intent_id}/receipt`, { key: of.operator })).json;
    const own = JSON.parse(textOf(name));
    const told = ({ entries, org_id, keys }: typeof own) => ({
      ...{ org_id, keys },
      entries: entries.map(({ index, leaf, documents }: (typeof entries)[number]) => ({ index, leaf, documents })),
    });
    expect(told(own)).toEqual(told(single));
  }
});

test("the archive says which policies and packs were in force, and who did what", async () => {
  const { policies, membranes, packs } = JSON.parse(textOf("policies/in-force.json"));
  expect(policies).toMatchObject([{ name: "ask", version: 1, mode: "live", until: null }]);
  const document = files.get(policies[0].file) as Buffer;
  expect(createHash("sha256").update(document).digest("hex")).toBe(policies[0].sha256);
  expect(JSON.parse(document.toString()).metadata.name).toBe("ask");
  const last = membranes.at(-1);
  expect(last).toMatchObject({ membrane_id: of.membrane_id, status: "live", until: null });
  expect(packs.map(({ name }: { name: string }) => name).sort()).toEqual([...last.packs].sort());
  const page = textOf("summary.html");
  for (const told of [
    "it pays twice",
    "5 decisions",
    "erasure_requested",
    key,
    textOf("log/checkpoint.txt").split("\n")[0],
  ])
    expect(page).toContain(told);
  expect(page).not.toContain("<b>no");
  expect(JSON.parse(textOf("log/key-history.json"))).toMatchObject({ keys: [{ verifier_key: key }], rotations: [] });
});

test("verify says yes with what is proved, and that no entry between the first and the last is missing", async () => {
  const { code, stdout, stderr } = await verified(archive);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^YES: this is genuine evidence of org_\w+, .* 5 of 5 receipts hold\.\n/);
  const entries = linesOf("records/audit.jsonl").map((line) => JSON.parse(line).entry);
  expect(stdout).toContain(`every entry of the log from ${Math.min(...entries)} to ${Math.max(...entries)}`);
  expect(stdout).toContain("Each decision of the period among them has a receipt: 5.");
  const as_json = await verified(archive, "--json");
  expect(JSON.parse(as_json.stdout)).toMatchObject({ ok: true, receipts: 5, receipts_held: 5, problem_count: 0 });
});

test("without an entry before the period, its begin is not proved, and the archive says so", async () => {
  const { intent } = JSON.parse(linesOf("records/decisions.jsonl")[1] ?? "");
  const path = join(folder, "later.zip");
  expect((await evidence(["--from", intent.submitted_at, "--output", path])).code).toBe(0);
  const whole = await verified(path);
  expect([whole.code, whole.stdout]).toEqual([0, expect.not.stringContaining("That the period begins with entry")]);
  const later = await unzipped(path);
  const records = (later.get("records/audit.jsonl") as Buffer).toString().split("\n").slice(0, -1);
  const in_period = records.filter((line) => JSON.parse(line).at >= intent.submitted_at);
  expect(in_period.length).toBeLessThan(records.length);
  const first = JSON.parse(in_period.at(-1) ?? "").entry;
  const entries = new Map(records.map((line) => [JSON.parse(line).entry as number, JSON.parse(line).hash as string]));
  const { size, last } = JSON.parse((later.get("log/range.json") as Buffer).toString());
  const hashes = hashesOf(rangeProofRanges(first, last, size), ({ level }) =>
    level === 0
      ? Buffer.concat(Array.from({ length: size }, (_, n) => Buffer.from(entries.get(n) ?? "", "hex")))
      : Buffer.alloc(0),
  );
  const range = { first, last, size, hashes: hashes.map((hash) => Buffer.from(hash).toString("base64")) };
  files = later;
  const cut = forged({ "records/audit.jsonl": `${in_period.join("\n")}\n`, "log/range.json": JSON.stringify(range) });
  const { code, stdout } = await verified(await zipped("cut-begin.zip", cut));
  expect([code, stdout]).toEqual([0, expect.stringContaining(`That the period begins with entry ${first}: compare`)]);
  files = await unzipped(archive);
});

test("one changed byte in any file is found, and so is a missing and an added file", async () => {
  for (const [name, bytes] of files) {
    const other = Buffer.from(bytes);
    const at = Math.floor(other.length / 2);
    other[at] = (other[at] ?? 0) ^ 1;
    const { code, stdout, stderr } = await verified(await zipped("changed.zip", new Map(files).set(name, other)));
    // A manifest that is no JSON, or has another format, is no archive.
    expect([name, name === "MANIFEST.json" ? code !== 0 : code], stdout + stderr).toEqual([
      name,
      name === "MANIFEST.json" ? true : 1,
    ]);
    if (name !== "MANIFEST.json") expect(stdout).toContain(name);
  }
  const without = new Map(files);
  without.delete("summary.html");
  expect((await verified(await zipped("without.zip", without))).stdout).toContain("summary.html is missing");
  const added = new Map(files).set("more.txt", Buffer.from("more"));
  expect((await verified(await zipped("added.zip", added))).stdout).toContain("more.txt is not in MANIFEST.json");
  const whole = readFileSync(archive);
  // Inside the compressed bytes of the first file.
  whole[120] = (whole[120] ?? 0) ^ 1;
  writeFileSync(join(folder, "flipped.zip"), whole);
  expect((await verified(join(folder, "flipped.zip"))).code).toBe(1);
});

test("a forger who also writes the manifest again is found", async () => {
  const [receipt = ""] = receiptNames();
  const [first = "", ...others] = linesOf("records/decisions.jsonl");
  const [newest = "", ...records] = linesOf("records/audit.jsonl");
  const middle = records.findIndex((line) => JSON.parse(line).type === "decided");
  const decided = JSON.parse(records[middle] as string);
  const without_decision = records.filter((line) => JSON.parse(line).entry !== decided.entry);
  const other_verdict = first
    .replace(/"verdict":"\w+"/, '"verdict":"approve"')
    .replace(/"agent":\{"id":"[^"]+"/, '"agent":{"id":"other"');
  const in_force = textOf("policies/in-force.json").replace(/"sha256": "./, '"sha256": "x');
  const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
  const cases: [Files, string][] = [
    [forged({ [receipt]: textOf(receipt).replace(/"proof":\["./, '"proof":["-') }), `${receipt}: `],
    [
      forged(
        {
          [receipt]: null,
          "records/decisions.jsonl": text(
            linesOf("records/decisions.jsonl").filter((line) => !line.includes(receipt.slice(9, -5))),
          ),
        },
        { decisions: 4 },
      ),
      "is a decision of the period, and the archive has no receipt of it",
    ],
    [forged({ "records/decisions.jsonl": text([other_verdict, ...others]) }), "contradicts its receipt"],
    [forged({ "records/decisions.jsonl": text(others) }, { decisions: 4 }), "is missing in records/decisions.jsonl"],
    [forged({ "records/audit.jsonl": text([newest, ...without_decision]) }), "are missing in records/audit.jsonl"],
    [
      forged({ "records/audit.jsonl": text([newest.replace(/"type":"\w+"/, '"type":"observed"'), ...records]) }),
      "than its leaf",
    ],
    [
      forged({
        "records/audit.jsonl": text([newest, ...records].filter((line) => JSON.parse(line).seq !== decided.seq)),
      }),
      "records between them are missing",
    ],
    [
      forged({ "records/audit.jsonl": text([newest, ...records]).replace(/"verdict":"\w+"/, '"verdict":"approve"') }),
      "has another verdict than its leaf",
    ],
    [
      forged({
        "records/decisions.jsonl": text(linesOf("records/decisions.jsonl")).replace('"replicas":2', '"replicas":3'),
      }),
      "contradicts its receipt",
    ],
    [forged({ "records/audit.jsonl": "{}\n" }), "line 1 of records/audit.jsonl is not such a record"],
    [
      forged({ "log/range.json": textOf("log/range.json").replace('"first":', '"first":1') }),
      "log/range.json is no proof",
    ],
    [
      forged({ "log/checkpoint.txt": textOf("log/checkpoint.txt").replace(/\n\d+\n/, "\n1\n") }),
      "no key that you gave signed log/checkpoint.txt",
    ],
    [forged({ "policies/in-force.json": in_force }), "has another hash than policies/in-force.json says"],
    [forged({}, { org_id: "org_01K00000000000000000000000" }), "and not of the organization org_01K0"],
    [forged({}, { from: "2020-01-01T00:00:00Z", to: "2020-02-01T00:00:00Z" }), "outside of the period"],
  ];
  for (const [content, said] of cases) {
    const { code, stdout, stderr } = await verified(await zipped("forged.zip", content));
    expect({ said, code, found: stdout.includes(said) }, stdout + stderr).toEqual({ said, code: 1, found: true });
    expect(stdout).toMatch(/^NO: this archive is not genuine\. \d of \d receipts? hold\.\n/);
  }
});

test("verify needs a key of the log, and says with 2 that it cannot check", async () => {
  const other = "log.example/org_1+d4ed52a7+AbX8cUqB2vEiQ0kC5gMOXqjG3v1rAdyO7b2Cbrn1nYbK";
  for (const args of [
    [archive],
    [join(folder, "none.zip"), "--key", key],
    [join(folder, "archive.txt"), "--key", key],
    [archive, "--key", other],
    [await zipped("empty.zip", new Map([["a", Buffer.from("b")]])), "--key", key],
  ]) {
    writeFileSync(join(folder, "archive.txt"), "this is not a zip archive, although it is long enough to be one");
    expect(await runCli(["evidence", "verify", ...args])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/./),
    });
  }
});

test("without --output, the name of the archive has the period, and --known compares the log", async () => {
  const begin = "2026-11-01";
  const cwd = mkdtempSync(join(folder, "cwd-"));
  const env = { COUNTERSIGN_API_KEY: of.operator };
  const { code, stderr } = await runCli(["evidence", "--from", begin, "--to", "2126-12-01", "--url", url], env, cwd);
  expect(code, stderr).toBe(0);
  expect(readdirSync(cwd)).toEqual(["evidence-2026-11-01-2126-12-01.zip"]);
  const path = join(cwd, "evidence-2026-11-01-2126-12-01.zip");
  const size = Number((await unzipped(path)).get("log/checkpoint.txt")?.toString().split("\n")[1]);
  const known = Number(textOf("log/checkpoint.txt").split("\n")[1]);
  const consistency = await call(url, "GET", `/v1/audit/log/consistency?from=${known}&to=${size}`, {
    key: of.operator,
  });
  const [checkpoint, proof] = [join(cwd, "known.txt"), join(cwd, "proof.txt")];
  writeFileSync(checkpoint, textOf("log/checkpoint.txt"));
  writeFileSync(proof, consistency.json.consistency.proof.join("\n"));
  expect((await verified(path, "--known", checkpoint, "--proof", proof)).code).toBe(0);
  writeFileSync(proof, Buffer.alloc(32).toString("base64"));
  const other = await verified(path, "--known", checkpoint, "--proof", proof);
  expect([other.code, other.stdout]).toEqual([1, expect.stringContaining("the log of the known checkpoint differ")]);
});

test("a role that may not read evidence, and impossible periods, are refused before a file is made", async () => {
  const output = join(folder, "refused.zip");
  const day_ms = 86_400_000;
  const tomorrow = new Date(Date.now() + day_ms).toISOString();
  const cases: [readonly string[], string, string?][] = [
    [["--from", from], "has the role reviewer, which may not read evidence", of.reviewer],
    [["--from", from], "has the role agent, which may not read evidence", of.agent],
    [[], "give the period: --from"],
    [["--from", tomorrow], "is in the future"],
    [["--from", from, "--to", "2020-01-01"], "is not before --to"],
    [["--from", "yesterday"], "--from takes a time"],
    [
      ["--from", "2020-01-01", "--to", "2020-02-01"],
      "nothing was recorded from 2020-01-01T00:00:00Z, before 2020-02-01T00:00:00Z",
    ],
  ];
  for (const [args, said, api_key] of cases) {
    const { code, stderr } = await evidence([...args, "--output", output], api_key);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(said) });
  }
  expect(existsSync(output)).toBe(false);
  const again = await evidence(["--from", from, "--output", archive]);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("already exists") });
  expect((await verified(archive)).code).toBe(0);
});

const me = { caller: { org_id: "org_1", org_name: "Acme", role: "auditor", id: "key_1" } };

test("an archive whose parts end early leaves no file, and the message names the part", async () => {
  const service = await startFakeService(({ path }) =>
    path === "/v1/me"
      ? { status: 200, body: me }
      : {
          status: 200,
          headers: { "content-type": "application/x-ndjson" },
          body: { progress: { rows: 0, done: 0 }, part: "" },
        },
  );
  onTestFinished(async () => void (await service.stop()));
  const output = join(folder, "cut.zip");
  const { code, stderr } = await runCli(["evidence", "--from", from, "--output", output, "--url", service.url]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("receipts could not be read") });
  expect(stderr).toContain("the answer ended early");
  expect(existsSync(output)).toBe(false);
});

test("an interrupted command removes what it wrote", async () => {
  const service = await startFakeService(({ path }) =>
    path === "/v1/me" ? { status: 200, body: me } : new Promise(() => undefined),
  );
  onTestFinished(async () => void (await service.stop()));
  const output = join(folder, "interrupted.zip");
  const cli = beginCli(["evidence", "--from", from, "--output", output, "--url", service.url]);
  await expect.poll(() => service.seen.length).toBe(2);
  expect(readdirSync(folder)).toContain("interrupted.zip");
  cli.interrupt("SIGINT");
  expect(await cli.finished).toMatchObject({
    code: 130,
    stderr: expect.stringContaining("was incomplete and was removed"),
  });
  expect(existsSync(output)).toBe(false);
});
