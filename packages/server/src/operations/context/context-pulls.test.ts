import { readFileSync } from "node:fs";
import { limits, type PullFailure } from "@countersign/contract";
import { parseTimestampUs, resolveLimits } from "@countersign/core";
import { describe, expect, test } from "vitest";
import { createIds } from "../../edge/ids.ts";
import { createSealer } from "../../edge/start/sealer.ts";
import type { Answered } from "../../ports.ts";
import { sourceSecretContext } from "../../store/context/context-source.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import type { Pulled } from "../shared/node-services.ts";
import { createContextPulls } from "./context-pulls.ts";

const ok = (document: object = { contract_version: "1", facts: {} }): Answered => ({
  status: 200,
  body: Buffer.from(JSON.stringify(document)),
  cache_control: null,
});
const status = (code: number): Answered => ({ status: code, body: Buffer.alloc(0), cache_control: null });
const failed = (what: "timeout" | "unreachable" | "refused" | "too_large"): Answered => ({ failed: what, text: what });

function world(answer: (n: number) => Answered | null, start_us = 1_700_000_000_000_000) {
  let now_us = start_us;
  const timers = new Set<{ at_us: number; run: () => void }>();
  const open: ((answer: Answered) => void)[] = [];
  const asked: { url: string; timeout_ms: number }[] = [];
  const counted: string[] = [];
  const clock = { now_us: () => now_us };
  const sealer = createSealer(Buffer.alloc(32, 1));
  const pulls = createContextPulls({
    clock,
    ids: createIds(clock),
    timers: {
      after(wait_ms, run) {
        const timer = { at_us: now_us + wait_ms * 1000, run };
        timers.add(timer);
        return () => timers.delete(timer);
      },
    },
    log: silentLog,
    sealer,
    metrics: { pulled: (outcome) => counted.push(outcome) },
    isRegistered: async (_org_id, { secret_sealed }) => secret_sealed !== removed?.secret_sealed,
    httpOut: {
      ask(url, _headers, _body, { timeout_ms }) {
        const at = asked.push({ url, timeout_ms });
        const given = answer(at);
        return given !== null ? Promise.resolve(given) : new Promise((resolve) => open.push(resolve));
      },
    },
  });
  const register = (url = "https://a.example.com/") => ({
    url,
    timeout_ms: 1000,
    secret_sealed: sealer.seal("whsec_x", sourceSecretContext("org_1")),
    created_at: "",
  });
  let source = register();
  let removed: typeof source | null = null;
  return {
    asked,
    open,
    counted,
    pulls,
    pass(ms: number) {
      now_us += ms * 1000;
      for (const timer of [...timers].filter((each) => each.at_us <= now_us)) {
        timers.delete(timer);
        timer.run();
      }
    },
    registerAnew() {
      source = register();
    },
    remove() {
      removed = source;
    },
    pull: (intent: object = { n: 1 }, ages = [resolveLimits([])], org_id = "org_1") =>
      pulls.pull(org_id, source, intent, ages),
  };
}
const reason = (pulled: Pulled | null): PullFailure | "facts" | "replaced" =>
  pulled === null ? "replaced" : "failed" in pulled ? pulled.failed : "facts";
const soon = () => new Promise(setImmediate);

describe("after failures in a row", () => {
  const bad = [failed("timeout"), failed("unreachable"), failed("refused"), status(500), status(429)];
  const { context_source_failures_max: most, context_source_pause_seconds: pause_seconds } = limits;

  test("the source is paused, then one request tries it again", async () => {
    let back = false;
    const w = world((n) => (back ? ok() : (bad[n % bad.length] as Answered)));
    let n = 0;
    const next = async () => reason(await w.pull({ n: n++ }));
    for (let each = 0; each < most; each++) expect(await next()).not.toBe("source_paused");
    expect(await next()).toBe("source_paused");
    w.pass(pause_seconds * 1000 - 1);
    expect(await next()).toBe("source_paused");
    expect(w.asked).toHaveLength(most);
    w.pass(1);
    expect(await next()).not.toBe("source_paused");
    expect(await next()).toBe("source_paused");
    expect(w.asked).toHaveLength(most + 1);
    w.pass(pause_seconds * 1000);
    back = true;
    expect([await next(), await next()]).toEqual(["facts", "facts"]);
    expect(w.asked).toHaveLength(most + 3);
  });

  test("the source is asked again even if the clock was set back by a day", async () => {
    const w = world((n) => (n <= most ? failed("timeout") : ok()));
    for (let n = 0; n < most; n++) await w.pull({ n });
    w.pass(-86_400_000);
    expect(reason(await w.pull({ n: most }))).toBe("facts");
  });

  test("only one of many requests tries", async () => {
    const w = world((n) => (n <= most ? failed("timeout") : null));
    for (let n = 0; n < most; n++) await w.pull({ n });
    w.pass(pause_seconds * 1000);
    const trying = Array.from({ length: 10 }, (_, n) => w.pull({ n: n + 100 }));
    await soon();
    expect(w.open).toHaveLength(1);
    w.open[0]?.(ok());
    const reasons = (await Promise.all(trying)).map(reason);
    expect(reasons.sort()).toEqual(["facts", ...Array(9).fill("source_paused")]);
    const after = w.pull({ n: 200 });
    await soon();
    w.open[1]?.(ok());
    expect(reason(await after)).toBe("facts");
  });

  test("a success resets the count", async () => {
    const w = world((n) => (n % most === 0 ? ok() : failed("timeout")));
    for (let n = 0; n < 4 * most; n++) expect(reason(await w.pull({ n }))).not.toBe("source_paused");
  });

  test("bad answers do not count, so that one agent's odd intents do not affect others", async () => {
    const odd = [status(404), status(302), ok({ nonsense: 1 }), failed("too_large")];
    const w = world((n) => odd[n % odd.length] as Answered);
    for (let n = 0; n < 4 * most; n++) expect(reason(await w.pull({ n }))).not.toBe("source_paused");
  });

  test("a new registration is not paused", async () => {
    const w = world((n) => (n <= most ? failed("timeout") : ok()));
    for (let n = 0; n < most; n++) await w.pull({ n });
    w.registerAnew();
    expect(reason(await w.pull())).toBe("facts");
  });

  test("other organizations are not affected", async () => {
    const w = world((n) => (n <= most ? failed("timeout") : ok()));
    for (let n = 0; n < most; n++) await w.pull({ n });
    expect(reason(await w.pull())).toBe("source_paused");
    // The secret is sealed for org_1, so nothing is sent for org_2. But the source of org_2 is not paused.
    expect(reason(await w.pull({ n: 1 }, undefined, "org_2"))).toBe("source_secret");
  });
});

describe("places", () => {
  const { context_source_pulls_max: most } = limits;

  test("open requests do not exceed the places; a waiting request uses the rest of its time", async () => {
    const w = world(() => null);
    const made = Array.from({ length: most + 1 }, (_, n) => w.pull({ n }));
    await soon();
    expect(w.asked).toHaveLength(most);
    w.pass(400);
    w.open[0]?.(ok());
    await soon();
    expect(w.asked.map((each) => each.timeout_ms)).toEqual([...Array(most).fill(1000), 600]);
    for (const answer of w.open) answer(ok());
    expect((await Promise.all(made)).map(reason)).toEqual(Array(most + 1).fill("facts"));
  });

  test("a request that waited while the clock was set back by a day still has at most the whole timeout", async () => {
    const w = world(() => null);
    const made = Array.from({ length: most + 1 }, (_, n) => w.pull({ n }));
    await soon();
    w.pass(-86_400_000);
    w.open[0]?.(ok());
    await soon();
    expect(w.asked.at(-1)?.timeout_ms).toBe(1000);
    for (const answer of w.open) answer(ok());
    await Promise.all(made);
  });

  test("a request that waits longer than the timeout fails and is never sent", async () => {
    const w = world(() => null);
    const held = Array.from({ length: most }, (_, n) => w.pull({ n }));
    const late = w.pull({ n: "late" });
    await soon();
    w.pass(1000);
    expect(reason(await late)).toBe("source_busy");
    for (const answer of w.open) answer(failed("timeout"));
    await Promise.all(held);
    await soon();
    expect(w.asked).toHaveLength(most);
  });
});

describe("a source that was removed", () => {
  test("is sent nothing, even by requests that wait for a place", async () => {
    const w = world(() => null);
    const held = Array.from({ length: limits.context_source_pulls_max }, (_, n) => w.pull({ n }));
    const waiting = w.pull({ n: "waiting" });
    await soon();
    w.remove();
    for (const answer of w.open) answer(ok());
    await Promise.all(held);
    expect([reason(await waiting), reason(await w.pull({ n: "later" }))]).toEqual(["replaced", "replaced"]);
    expect(w.asked).toHaveLength(limits.context_source_pulls_max);
  });
});

describe("an answer is kept", () => {
  const facts = (more: object = {}) =>
    ok({ contract_version: "1", facts: { regulatory: { consumer_age: 20 } }, ...more });

  test("for a minute and not a millisecond longer", async () => {
    const w = world(() => facts());
    await w.pull();
    w.pass(limits.context_source_kept_seconds_max * 1000);
    await w.pull();
    expect(w.asked).toHaveLength(1);
    w.pass(1);
    await w.pull();
    expect(w.asked).toHaveLength(2);
    expect(w.counted).toEqual(["pulled", "kept", "pulled"]);
  });

  test("not if its time is in the future because the clock was set back", async () => {
    const w = world(() => facts());
    await w.pull();
    w.pass(-86_400_000);
    await w.pull();
    expect(w.asked).toHaveLength(2);
  });

  test("while its facts are fresh under every requested age limit", async () => {
    const w = world(() => facts());
    const ages = [resolveLimits([]), resolveLimits([{ "regulatory.consumer_age": 10 }])];
    await w.pull({}, ages);
    w.pass(10_000);
    await w.pull({}, ages);
    expect(w.asked).toHaveLength(1);
    w.pass(1);
    await w.pull({}, ages);
    expect(w.asked).toHaveLength(2);
  });

  test("not past the end of the recipient's hour", async () => {
    // 1,700,000,000 is 22:13:20.
    const w = world(() => ok({ contract_version: "1", facts: { environmental: { recipient_local_hour: 14 } } }));
    w.pass(46 * 60_000 + 30_000);
    await w.pull();
    w.pass(9_999);
    await w.pull();
    expect(w.asked).toHaveLength(1);
    w.pass(1);
    await w.pull();
    expect(w.asked).toHaveLength(2);
  });

  test("not longer because it is dated ahead", async () => {
    const w = world(() => facts({ as_of: { regulatory: new Date(1_700_000_000_000 + 299_000).toISOString() } }));
    const ages = [resolveLimits([{ regulatory: 5 }])];
    await w.pull({}, ages);
    w.pass(5_001);
    await w.pull({}, ages);
    expect(w.asked).toHaveLength(2);
  });

  test("not when it failed", async () => {
    const w = world((n) => (n === 1 ? status(404) : facts()));
    expect([reason(await w.pull()), reason(await w.pull())]).toEqual(["source_error", "facts"]);
  });

  test("not over a new registration", async () => {
    const w = world(() => facts());
    await w.pull();
    w.registerAnew();
    await w.pull();
    expect(w.asked).toHaveLength(2);
  });
});

const examples: { document: unknown; valid: boolean; why: string }[] = JSON.parse(
  readFileSync(new URL("../../../../../test/data/context-documents.json", import.meta.url), "utf8"),
);

test("an answer must follow the rules of every context document", async () => {
  const start_us = parseTimestampUs("2026-11-21T12:00:00Z") as number;
  for (const { document, valid, why } of examples) {
    const w = world(() => ok(document as object), start_us);
    expect([why, reason(await w.pull())]).toEqual([why, valid ? "facts" : "source_invalid"]);
  }
  expect(examples.length).toBeGreaterThan(200);
});

const text = (body: string): Answered => ({ status: 200, body: Buffer.from(body), cache_control: null });

test("a number that no double holds makes only its fact inexact, also in a kept answer", async () => {
  const body =
    '{"contract_version":"1","facts":{"entity_state":{"account_balance_usd":4503599627370497.75,"account_status":"active",' +
    '"accounts":{"ids":[7,9007199254740993]}},"identity":{"delegation_limit_usd":1.5e300}}}';
  const w = world(() => text(body));
  for (const _ of ["asked", "kept"])
    expect(await w.pull()).toMatchObject({
      document: {
        facts: {
          entity_state: { account_balance_usd: null, account_status: "active", accounts: null },
          identity: { delegation_limit_usd: 1.5e300 },
        },
      },
      inexact: { entity_state: ["account_balance_usd", "accounts"] },
    });
  expect(w.counted).toEqual(["pulled", "kept"]);
});

test.each([
  ["beside a number", '{"contract_version":"1","facts":{"security":{"a":[9007199254740993,"\\u0000"]}}}'],
  ["outside of the facts", '{"contract_version":"1","as_of":9007199254740993,"facts":{}}'],
  ["in place of a category", '{"contract_version":"1","facts":{"security":9007199254740993}}'],
  ["in place of the document", "9007199254740993"],
])("other content that no document may have makes an answer invalid: %s", async (_, body) => {
  expect(reason(await world(() => text(body)).pull())).toBe("source_invalid");
});
