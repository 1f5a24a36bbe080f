import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refusal, startFakeService } from "../../packages/cli/src/testing/fake-service.ts";
import { runCli } from "../../packages/cli/src/testing/run-cli.ts";
import { testDatabase } from "../../packages/server/src/testing/database/database.ts";
import { call } from "../../packages/server/src/testing/nodes/http-node.ts";
import { serviceNode } from "../../packages/server/src/testing/nodes/service-node.ts";
import { type Reviewed, reviewedOrganization } from "../../packages/server/src/testing/people/review.ts";

const folder = mkdtempSync(join(tmpdir(), "cli-apply-"));
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

function file(path: string, name: string, limit: string, verdict = "block"): string {
  writeFileSync(
    join(folder, path),
    `apiVersion: countersign/v1
kind: Policy
metadata: {name: ${name}}
spec:
  match: {actions: [payment.transfer]}
  when: params.amount_usd > ${limit}
  effect: block
tests:
  - name: much
    intent: {agent: {id: a}, action: {type: payment.transfer, verb: pay}, payload: {content: {amount_usd: 1000}}}
    expect: {verdict: ${verdict}}
`,
  );
  return path;
}

const database = await testDatabase();
const { url } = await serviceNode(database);
let org: Reviewed;
beforeAll(async () => {
  org = await reviewedOrganization(database.db, url, { packs: [] });
});

const applyWith = (key: string, ...args: string[]) =>
  runCli(["policies", "apply", ...args, "--url", url], { COUNTERSIGN_API_KEY: key }, folder);
const apply = (...args: string[]) => applyWith(org.admin, ...args);
const lines = ({ stdout }: { stdout: string }) => stdout.trimEnd().split("\n");
const policies = async () => {
  const { json } = await call(url, "GET", "/v1/policies", { key: org.admin });
  return Object.fromEntries(
    json.policies.map((each: { name: string; status: string; version: number; active_version: number | null }) => [
      each.name,
      [each.status, each.version, each.active_version],
    ]),
  );
};

describe("countersign policies apply", () => {
  test("saves and activates new or changed documents, and skips unchanged ones", async () => {
    const [wires, cards] = [file("wires.yaml", "wires", "50.0"), file("cards.yaml", "cards", "60.0")];

    const dry = await apply(wires, cards, "--dry-run", "--activate", "live");
    expect(lines(dry)).toEqual([
      "wires.yaml: wires would be created as version 1, and would be live",
      "cards.yaml: cards would be created as version 1, and would be live",
      "2 policies: 2 new, 0 changed, 0 unchanged",
    ]);
    expect(await policies()).toEqual({});

    const first = await apply(wires);
    expect([first.code, first.stderr, ...lines(first)]).toEqual([
      0,
      "",
      "wires.yaml: wires created as version 1, a draft",
      "1 policy: 1 new, 0 changed, 0 unchanged",
    ]);
    expect(lines(await apply(wires, cards, "--activate", "shadow"))).toEqual([
      "wires.yaml: wires unchanged, version 1, and is in shadow",
      "cards.yaml: cards created as version 1, and is in shadow",
      "2 policies: 1 new, 0 changed, 1 unchanged",
    ]);
    expect(await policies()).toEqual({ wires: ["shadow", 1, 1], cards: ["shadow", 1, 1] });

    file("wires.yaml", "wires", "40.0");
    expect(lines(await apply(wires, cards))).toEqual([
      "wires.yaml: wires saved as version 2, version 1 in shadow",
      "cards.yaml: cards unchanged, version 1, in shadow",
      "2 policies: 0 new, 1 changed, 1 unchanged",
    ]);
    expect(await policies()).toEqual({ wires: ["shadow", 2, 1], cards: ["shadow", 1, 1] });

    file("cards.yaml", "cards", "70.0");
    expect(lines(await apply(wires, cards, "--activate", "shadow"))).toEqual([
      "wires.yaml: wires unchanged, version 2, and is in shadow",
      "cards.yaml: cards saved as version 2, and is in shadow",
      "2 policies: 0 new, 1 changed, 1 unchanged",
    ]);
    expect(await policies()).toEqual({ wires: ["shadow", 2, 2], cards: ["shadow", 2, 2] });
  });

  test("saves nothing if any document is invalid, fails its tests, is named twice or retired", async () => {
    const before = await policies();
    const good = file("good.yaml", "good", "1.0");
    writeFileSync(join(folder, "wrong.yaml"), "kind: Policy\n");
    const red = file("red.yaml", "red", "1.0", "escalate");
    const wrong = await apply(good, "wrong.yaml", red);
    expect([wrong.code, wrong.stdout]).toEqual([1, ""]);
    expect(wrong.stderr).toMatch(/^countersign: the documents have errors\nwrong\.yaml:1:1: error /);
    expect(wrong.stderr).toMatch(/^red\.yaml:11:23: error test_failed: The test "much" fails/m);
    const twice = await apply(good, file("twin.yaml", "good", "2.0"));
    expect([twice.code, twice.stdout]).toEqual([1, ""]);
    expect(twice.stderr).toBe("countersign: good.yaml and twin.yaml are both the policy good\n");
    expect(await policies()).toEqual(before);

    const document = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "old" },
      spec: { when: "true", effect: "block" },
    };
    const { json } = await call(url, "POST", "/v1/policies", { key: org.admin, body: { policy: document } });
    await call(url, "POST", `/v1/policies/${json.policy.policy_id}/retire`, { key: org.admin });
    const old = file("old.yaml", "old", "1.0");
    const { code, stdout, stderr } = await apply(good, old);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("old.yaml: the policy old is permanently retired: give the document another name");
    expect(await policies()).toEqual({ ...before, old: ["retired", 1, null] });
  });

  test("saves a suspicious document with a warning", async () => {
    writeFileSync(
      join(folder, "star.yaml"),
      `apiVersion: countersign/v1
kind: Policy
metadata: {name: star}
spec:
  when: params.on
  effect: block
  override: never
`,
    );
    const { code, stderr } = await apply("star.yaml");
    expect([code, (await policies())["star"]]).toEqual([0, ["draft", 1, null]]);
    expect(stderr).toMatch(/^star\.yaml:7:\d+: warning /);
  });

  test("gives advice if the key may not, or another program answers", async () => {
    const good = file("good.yaml", "good", "1.0");
    const asReviewer = await applyWith(org.reviewer, good);
    expect([asReviewer.code, asReviewer.stdout]).toEqual([1, ""]);
    expect(asReviewer.stderr).toMatch(
      /^countersign: good\.yaml: .*\(give a key with --api-key or COUNTERSIGN_API_KEY\)/,
    );
    expect((await applyWith(org.reviewer, good, "--dry-run")).code).toBe(0);

    const stranger = await startFakeService(() => ({ status: 200, body: { hello: "there" } }));
    const strange = await runCli(["policies", "apply", good, "--url", stranger.url], {}, folder);
    await stranger.stop();
    expect([strange.code, strange.stdout]).toEqual([1, ""]);
    expect(strange.stderr).toContain("that address does not answer like Countersign");
  });

  test("prints what was done before a refusal", async () => {
    const [one, two] = [file("one.yaml", "one", "1.0"), file("two.yaml", "two", "1.0")];
    let saved = 0;
    const service = await startFakeService(({ method }) => {
      if (method === "GET") return { status: 200, body: { policies: [], next_cursor: null } };
      saved += 1;
      if (saved > 1) return refusal(409, "already_exists");
      return { status: 201, body: { policy: { policy_id: "pol_1" }, diagnostics: [] } };
    });
    const { code, stdout, stderr } = await runCli(["policies", "apply", one, two, "--url", service.url], {}, folder);
    await service.stop();
    expect([code, stdout]).toEqual([1, "one.yaml: one created as version 1, a draft\n"]);
    expect(stderr).toMatch(/^countersign: two\.yaml: /);
  });
});
