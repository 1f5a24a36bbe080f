import { beforeAll, expect, test } from "vitest";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { createFiguresKeeper } from "../../packages/server/src/operations/figures/keep-figures.ts";
import type { Query } from "../../packages/server/src/ports.ts";
import { type IntentFilter, listIntents } from "../../packages/server/src/store/intents/intents.ts";
import { openLoaded } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

const copies = 100_000;
const copies_at_once = 10_000;
const page_rows = 50;

/** Copies decisions, one for each second until an hour ago, with ids of that time. */
async function copyDecisions(org_id: string, originals: readonly string[]): Promise<void> {
  let now_us = (Date.now() - 3_600_000 - copies * 1_000) * 1_000;
  const ids = createIds({ now_us: () => now_us });
  for (let done = 0; done < copies; done += copies_at_once) {
    const rows = Array.from({ length: copies_at_once }, (_, at) => {
      now_us += 1_000_000;
      const original = originals[at % 100 === 99 ? 2 : at % 100 === 49 ? 1 : 0] as string;
      return {
        original,
        intent_id: ids.next("intent"),
        decision_id: ids.next("decision"),
        at: new Date(now_us / 1_000),
      };
    });
    await console_.database.db.tenant(org_id, (query) =>
      query(
        `insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode,
           verdict, escalation_id, fingerprint, intent, facts, data, hash)
         select org_id, $6::bigint + 4 * copy.n, $7::bigint + copy.n, copy.at, 'decided', actor, copy.intent_id, copy.decision_id,
           membrane_id, agent_id, lineage_id, mode, verdict, escalation_id, fingerprint, intent, facts,
           replace(replace(decision::text, i.intent_id, copy.intent_id), i.decision_id, copy.decision_id)::json, ''
         from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[]) with ordinality copy (original, intent_id, decision_id, at, n)
         join intents i on i.org_id = $1 and i.intent_id = copy.original`,
        [
          org_id,
          rows.map((row) => row.original),
          rows.map((row) => row.intent_id),
          rows.map((row) => row.decision_id),
          rows.map((row) => row.at.toISOString()),
          // After all other rows of the ledger.
          1_000_000 + 4 * done,
          1_000_000 + done,
        ],
      ),
    );
  }
}

async function countCopies(org_id: string): Promise<void> {
  const { db } = console_.database;
  await db.system((query) =>
    query(
      `update org_heads h set audit_seq = l.seq, entries = l.entry + 1
       from (select seq, entry from ledger where org_id = $1 order by seq desc limit 1) l where h.org_id = $1`,
      [org_id],
    ),
  );
  const keeper = createFiguresKeeper(db);
  do await keeper.pass(() => false);
  while (keeper.behind() > 0);
}

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Plan[];
}

/** Returns how a query plan reads the large table. */
function readsOf(plan: Plan): string[] {
  const own = plan["Relation Name"] === "ledger" ? [plan["Node Type"]] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(readsOf)];
}

inBrowser("100,000 decisions", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    const body = (type: string, content: object, agent: string) => {
      const { intent: asked } = intent(type, content, { agent });
      return submit(console_.url, seeded.agent, { intent: asked });
    };
    const originals = [
      await body("other.refund", { amount_usd: 1 }, "support-bot"),
      await body("other.discount", { percent: 55 }, "sales-bot"),
      await body("other.export", { rows: 20_000 }, "report-bot"),
    ];
    await copyDecisions(
      seeded.org_id,
      originals.map(({ intent_id }) => intent_id),
    );
    await console_.database.db.query("analyze ledger");
    await countCopies(seeded.org_id);
  }, test_timeout_ms);

  test("are read page by page, forwards, backwards and filtered: one page in the document, one request for each", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.auditor });
    let asked = 0;
    page.on("request", (request) => {
      if (new URL(request.url()).pathname === "/v1/intents") asked += 1;
    });
    const table = page.getByRole("region", { name: "Decisions" });
    const links = table.locator("tbody a");
    const shown = async () => {
      expect(await table.locator("tbody tr").count()).toBe(page_rows);
      return links.evaluateAll((all) => all.map((each) => String((each as unknown as { href: string }).href)));
    };
    await openLoaded(page, "/decisions");
    await table.getByText("page 1: 50 shown").waitFor();
    const pages = [await shown()];
    expect(asked).toBe(1);
    for (const number of [2, 3, 4]) {
      await table.getByRole("button", { name: "More decisions" }).click();
      await table.getByText(`page ${number}: 50 shown`).waitFor();
      pages.push(await shown());
      expect(asked).toBe(number);
    }
    const all = pages.flat();
    expect(new Set(all).size).toBe(page_rows * 4);
    expect(all).toEqual(all.toSorted().reverse());
    await table.getByRole("button", { name: "Back" }).click();
    await table.getByText("page 3: 50 shown").waitFor();
    expect(await shown()).toEqual(pages[2]);
    expect(asked).toBe(5);

    await page.getByLabel("Verdict").selectOption("block");
    await table.getByText("page 1: 50 shown").waitFor();
    expect(await table.locator("tbody tr").filter({ hasText: "report-bot" }).count()).toBe(page_rows);
    expect(asked).toBe(6);
    await openLoaded(page, "/?span=month");
    await page.getByText("live, shadow and test").waitFor();
    await page
      .getByText((copies + 3).toLocaleString("en"), { exact: true })
      .first()
      .waitFor();
    expect(wrongs).toEqual([]);
  });

  const from = new Date(Date.now() - 24 * 3_600_000).toISOString();
  test.each<[string, IntentFilter, "begin" | "middle"]>([
    ["every decision", {}, "begin"],
    ["every decision, far back", {}, "middle"],
    ["those of an agent", { agent_id: "support-bot" }, "middle"],
    ["those of an agent that there is not", { agent_id: "nobody" }, "begin"],
    ["those with a rare verdict", { verdict: "block" }, "middle"],
    ["those of a day", { from }, "begin"],
    ["those of a mode", { mode: "shadow" }, "begin"],
    ["those of test mode, of which there are none", { mode: "test" }, "begin"],
  ])("are found by an index: %s", async (_, filter, place) => {
    const middle = (
      await console_.database.db.tenant(seeded.org_id, (query) =>
        query<{ intent_id: string }>(
          "select intent_id from intents where org_id = $1 order by intent_id offset $2 limit 1",
          [seeded.org_id, copies / 2],
        ),
      )
    )[0]?.intent_id;
    const plans: Plan[] = [];
    await console_.database.db.tenant(seeded.org_id, async (query) => {
      const explain: Query = async (text, params) => {
        const [row] = await query<{ "QUERY PLAN": { Plan: Plan }[] }>(`explain (format json) ${text}`, params);
        plans.push(...(row?.["QUERY PLAN"] ?? []).map((each) => each.Plan));
        return [];
      };
      await listIntents(explain, seeded.org_id, filter, place === "begin" ? null : (middle ?? null), page_rows + 1);
    });
    const reads = plans.flatMap(readsOf);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads).not.toContain("Seq Scan");
  });
});
