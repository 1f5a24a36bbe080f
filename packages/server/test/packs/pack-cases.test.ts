/** Sends a sample of the packs' cases over HTTP, at each case's time. `packs.test.ts` runs all of them. */
import { parseTimestampUs } from "@countersign/core";
import { describe, expect, test } from "vitest";
import { sampleOf } from "../../../../scripts/property-runs.ts";
import { createClock } from "../../src/edge/clock.ts";
import { loadPacks } from "../../src/edge/start/pack-files.ts";
import { testDatabase } from "../../src/testing/database/database.ts";
import { call, testOrganization } from "../../src/testing/nodes/http-node.ts";
import { serviceNode } from "../../src/testing/nodes/service-node.ts";

const database = await testDatabase();
const { packs } = await loadPacks();
const real = createClock();
let at_us: number | null = null;
const clock = { ...real, now_us: () => at_us ?? real.now_us() };
const { url } = await serviceNode(database, { clock });

interface Answer {
  readonly status: number;
  readonly json: { decision?: { verdict: string; reasons: { policy: string; effect: string }[] }; error?: unknown };
}

/** Returns what this rule alone decided. */
function ofRule(rule: string, { status, json }: Answer): string {
  if (json.decision === undefined) return `${status} ${JSON.stringify(json.error)}`;
  return json.decision.reasons.find(({ policy, effect }) => policy === rule && effect !== "none")?.effect ?? "approve";
}

const hours: ReadonlySet<unknown> = new Set(Array.from({ length: 24 }, (_, hour) => hour));
const isNoHour = (hour: unknown): boolean => hour !== undefined && hour !== null && !hours.has(hour);

/** The rules that read earlier actions. */
const counts = new Set(
  [...packs.values()].flatMap(({ rules }) =>
    rules.flatMap(({ metadata, spec }) => ("counters" in spec || "after" in spec ? [metadata.name] : [])),
  ),
);

describe("a pack's cases give the same result over HTTP as in core", () => {
  test.each([...packs.values()].map((pack) => [pack.name, pack] as const))("%s", async (name, pack) => {
    at_us = null;
    const key = (await (await testOrganization(database.db)).key()).api_key;
    const { json } = await call(url, "GET", "/v1/membranes", { key });
    const membrane = `/v1/membranes/${json.membranes[0].membrane_id}`;
    expect((await call(url, "PATCH", membrane, { key, body: { packs: [name] } })).status).toBe(200);
    expect((await call(url, "POST", `${membrane}/go-live`, { key })).status).toBe(200);
    const wrong: string[] = [];
    const refused: string[] = [];
    const impossible = pack.cases.filter(({ facts }) => isNoHour(facts["environmental"]?.["recipient_local_hour"]));
    // Cases of rules that count say what counted before. test/policies/counting-packs.test.ts runs them.
    const alone = pack.cases.filter(({ rule }) => !counts.has(rule));
    const chosen = [...new Set([...sampleOf(alone), ...impossible.slice(0, 1)])];
    for (const { rule, name: title, now, intent, facts, as_of, expect: expected } of chosen) {
      at_us = parseTimestampUs(now);
      const context = { contract_version: "1", facts, ...(as_of === undefined ? {} : { as_of }) };
      const answer = await call(url, "POST", "/v1/intents", { key, body: { intent, context } });
      if (answer.json.error?.code === "invalid_context") {
        refused.push(title);
        continue;
      }
      const got = ofRule(rule, answer);
      if (got !== expected) wrong.push(`${rule}, ${title}: expected ${expected}, got ${got}`);
    }
    at_us = null;
    expect(wrong).toEqual([]);
    // The service refuses these facts before any rule reads them.
    expect(impossible.length > 0).toBe(name === "tcpa");
    expect(refused).toEqual(chosen.filter((each) => impossible.includes(each)).map((each) => each.name));
  });
});
