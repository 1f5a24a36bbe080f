import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { pressEscape } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("a group of similar cases", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  /** Submits one after the other, because the queue keeps this order. */
  const raise = async (agent: string, amounts: readonly number[]) => {
    const raised = [];
    for (const amount_usd of amounts)
      raised.push(
        await submit(
          console_.url,
          seeded.agent,
          intent("other.refund", { amount_usd }, { agent, target: `cus_${amount_usd}` }),
        ),
      );
    return raised;
  };
  const outcomes = async (raised: readonly { readonly intent_id: string }[]) => {
    const answers = await Promise.all(
      raised.map(({ intent_id }) =>
        api<{ decision: { outcome: string | null } }>(
          console_.url,
          seeded.admin,
          "GET",
          `/v1/intents/${intent_id}/decision`,
        ),
      ),
    );
    return answers.map(({ decision }) => decision.outcome);
  };
  const votes = async (raised: readonly { readonly intent_id: string }[]) => {
    const trails = await Promise.all(
      raised.map(({ intent_id }) =>
        api<{ audit: { type: string }[] }>(console_.url, seeded.admin, "GET", `/v1/intents/${intent_id}/audit`),
      ),
    );
    return trails.map(({ audit }) => audit.filter(({ type }) => type === "voted").length);
  };

  test("says if rules change its members, because equal actions may be approved with different changes", {
    timeout: test_timeout_ms,
  }, async () => {
    const own = await seedLive(console_.url);
    const cap = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "cap" },
      spec: {
        match: { actions: ["other.refund"] },
        when: "true",
        effect: "approve_modified",
        modify: [{ op: "cap", path: "/amount_usd", value: "400.0" }],
      },
    };
    const refund = (agent: string, target: string) =>
      submit(console_.url, own.agent, intent("other.refund", { amount_usd: 900 }, { agent, target }));
    for (const target of ["cus_1", "cus_2"]) await refund("bot-as-asked", target);
    const { policy } = await api<{ policy: { policy_id: string } }>(console_.url, own.admin, "POST", "/v1/policies", {
      policy: cap,
    });
    await api(console_.url, own.admin, "POST", `/v1/policies/${policy.policy_id}/activate`, { mode: "live" });
    for (const target of ["cus_1", "cus_2"]) await refund("bot-capped", target);
    const { page, wrongs } = await console_.open({ api_key: own.reviewer });
    const said = async (agent: string) => {
      await page.goto(`/review?agent_id=${agent}`);
      await page.getByRole("button", { name: "Rule on all 2" }).click();
      const text = page.getByRole("dialog").getByText("Each one shows its differences");
      await text.waitFor();
      return text.textContent();
    };
    expect(await said("bot-as-asked")).not.toContain("Rules change");
    expect(await said("bot-capped")).toContain("Rules change the allowed parameters");
    expect(wrongs).toEqual([]);
  });

  test("is decided one by one: unselected cases stay, cases closed by others are reported, the rest is approved", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await raise("bot-many", [601, 702, 803, 904]);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review?agent_id=bot-many");
    await page.getByRole("button", { name: "Rule on all 4" }).click();
    const dialog = page.getByRole("dialog");
    const row = (target: string) => dialog.getByRole("row").filter({ hasText: target });
    await row("cus_803").getByRole("checkbox").uncheck();
    await dialog.getByLabel("Comment on each").fill("all of the outage");
    expect(await violations(page, in_dialog)).toEqual([]);
    const second = `/v1/escalations/${raised[1]?.decision.escalation_id}/decision`;
    await api(console_.url, seeded.operator, "POST", second, { outcome: "block" });
    await dialog.getByRole("button", { name: "Approve 3" }).click();
    await dialog.getByText("3 of 3 done").waitFor();
    await row("cus_601").getByText("approved", { exact: true }).waitFor();
    await row("cus_702").getByText("Someone else was faster, or the time is over").waitFor();
    await row("cus_803").getByText("not changed").waitFor();
    await row("cus_904").getByText("approved", { exact: true }).waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("article", { name: "Escalation" }).getByText("cus_803").first().waitFor();
    expect(await outcomes(raised)).toEqual(["approve", "block", null, "approve"]);
    expect(await votes(raised)).toEqual([1, 1, 0, 1]);
    expect(wrongs).toEqual([]);
  });

  test("shows the differences, and can be approved only once they are loaded", {
    timeout: test_timeout_ms,
  }, async () => {
    const contents = [
      { amount_usd: 700, iban: "DE02120300000000202051", why: "late" },
      { amount_usd: 700, iban: "DE89370400440532013000", why: "late", "notes/more": ["by phone"] },
    ];
    const submitAll = (agent: string, all: readonly object[]) =>
      Promise.all(all.map((content) => submit(console_.url, seeded.agent, intent("other.refund", content, { agent }))));
    await submitAll("bot-apart", contents);
    await submitAll("bot-same", [contents[0] as object, contents[0] as object]);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    let broken = true;
    // Reads only the two intents, even if the agent submitted thousands between them.
    const listed: string[] = [];
    page.on("request", (request) => void (/\/v1\/intents\?/.test(request.url()) && listed.push(request.url())));
    await page.route(/\/v1\/intents[?/]/, (route) =>
      broken
        ? route.fulfill({ status: 503, json: { error: { code: "unavailable", message: "", details: [] } } })
        : route.continue(),
    );
    await page.goto("/review?agent_id=bot-apart");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    const dialog = page.getByRole("dialog");
    const approve = dialog.getByRole("button", { name: "Approve 2" });
    await dialog.getByRole("button", { name: "Try again" }).waitFor();
    expect(await approve.isDisabled()).toBe(true);
    expect(await dialog.getByRole("button", { name: "Block 2" }).isDisabled()).toBe(false);
    // A screen reader must announce that approving became possible.
    const told = dialog.locator("[aria-live=polite]");
    expect(await told.textContent()).toContain("approving needs them");
    broken = false;
    await dialog.getByRole("button", { name: "Try again" }).click();
    await told.getByText("Each one shows its differences").waitFor();
    expect(await approve.isDisabled()).toBe(false);
    const heads = await dialog.getByRole("columnheader").allInnerTexts();
    expect(heads).toEqual(["Action", "iban", "notes/more/0", "Ends"]);
    const rows = await dialog.locator("tbody tr").all();
    const cells = await Promise.all(rows.map((row) => row.locator("td").allInnerTexts()));
    expect(cells.map((each) => each.slice(1, -1)).sort()).toEqual([
      [`"${contents[0]?.iban}"`, "—"],
      [`"${contents[1]?.iban}"`, '"by phone"'],
    ]);
    expect(await violations(page, in_dialog)).toEqual([]);
    await page.goto("/review?agent_id=bot-same");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    await dialog.getByText("They are exactly equal.").waitFor();
    expect(listed).toEqual([]);
    expect(await dialog.getByRole("columnheader").allInnerTexts()).toEqual(["Action", "Ends"]);
    expect(wrongs.filter((wrong) => !wrong.includes("503"))).toEqual([]);
  });

  test("says nothing about redacted values", { timeout: test_timeout_ms }, async () => {
    const redact = { when: "has(params.card)", effect: "approve_modified", modify: [{ op: "redact", path: "/card" }] };
    const ask = { when: "has(params.card)", effect: "escalate" };
    for (const [name, spec] of Object.entries({ redact, ask })) {
      const policy = {
        apiVersion: "countersign/v1",
        kind: "Policy",
        metadata: { name: `withheld-${name}` },
        spec: { ...spec, match: { actions: ["other.pay"] }, on_unknown: "skip" },
      };
      const { policy: saved } = await api<{ policy: { policy_id: string } }>(
        console_.url,
        seeded.admin,
        "POST",
        "/v1/policies",
        { policy },
      );
      await api(console_.url, seeded.admin, "POST", `/v1/policies/${saved.policy_id}/activate`, { mode: "live" });
    }
    for (const card of ["4111222233334444", "5555666677778888"])
      await submit(console_.url, seeded.agent, intent("other.pay", { card, amount_usd: 1 }, { agent: "bot-card" }));
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    await page.goto("/review?agent_id=bot-card");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Redacted values are not compared and may differ.").waitFor();
    expect(await dialog.getByText("They are exactly equal").count()).toBe(0);
    expect(await dialog.textContent()).not.toMatch(/4111|5555/);
    expect(wrongs).toEqual([]);
  });

  test("waits if the rate limit is reached, as long as the service says, then continues by itself", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await raise("bot-budget", [611, 712, 813]);
    const { page } = await console_.open({ api_key: seeded.reviewer, own: true });
    await page.clock.install();
    let refusals = 0;
    await page.route(/\/v1\/escalations\/[^/]+\/decision$/, async (route) => {
      if (!route.request().url().includes(`${raised[1]?.decision.escalation_id}`) || refusals === 2)
        return route.continue();
      refusals += 1;
      const error = { code: "rate_limit_exceeded", message: "", details: [], request_id: "req_0" };
      await route.fulfill({ status: 429, headers: { "Retry-After": "4" }, json: { error } });
    });
    await page.goto("/review?agent_id=bot-budget");
    await page.getByRole("button", { name: "Rule on all 3" }).waitFor();
    await page.keyboard.press("g");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Block 3" }).click();
    await dialog.getByText("It continues when the rate limit allows").waitFor();
    const all_done = dialog.getByText("3 of 3 done");
    const afterRest = async () => {
      await page.clock.fastForward(4_000);
      return all_done.count();
    };
    await expect.poll(afterRest).toBe(1);
    expect(refusals).toBe(2);
    expect(await votes(raised)).toEqual([1, 1, 1]);
  });

  test("pauses if answers get lost; continuing decides the rest and counts nothing twice", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await raise("bot-lost", [611, 712, 813]);
    const { page } = await console_.open({ api_key: seeded.reviewer });
    let cut = false;
    const keys: string[] = [];
    await page.route(/\/v1\/escalations\/[^/]+\/decision$/, async (route) => {
      if (
        !route
          .request()
          .url()
          .includes(raised[1]?.decision.escalation_id ?? "")
      )
        return route.continue();
      keys.push(route.request().headers()["idempotency-key"] ?? "");
      if (!cut) return route.continue();
      // The service counts the vote, but its answer never arrives.
      await route.fetch();
      await route.abort("connectionreset");
    });
    await page.goto("/review?agent_id=bot-lost");
    await page.getByRole("button", { name: "Rule on all 3" }).waitFor();
    await page.keyboard.press("g");
    const dialog = page.getByRole("dialog");
    const row = (target: string) => dialog.getByRole("row").filter({ hasText: target });
    cut = true;
    await dialog.getByRole("button", { name: "Block 3" }).click();
    await row("cus_712").getByText("no answer: it is sent again when you continue").waitFor();
    await dialog.getByText("The service does not answer").waitFor();
    await row("cus_611").getByText("blocked", { exact: true }).waitFor();
    await row("cus_813").getByText("not yet").waitFor();
    expect(await outcomes(raised)).toEqual(["block", "block", null]);
    cut = false;
    await dialog.getByRole("button", { name: "Go on" }).click();
    await dialog.getByText("3 of 3 done").waitFor();
    for (const target of ["cus_611", "cus_712", "cus_813"])
      await row(target).getByText("blocked", { exact: true }).waitFor();
    expect(await outcomes(raised)).toEqual(["block", "block", "block"]);
    expect(await votes(raised)).toEqual([1, 1, 1]);
    expect(keys.length).toBeGreaterThan(1);
    expect(new Set(keys).size).toBe(1);
  });

  test("stops at Escape with its dialog open, even if pressed repeatedly, and continues on request", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await raise("bot-stopped", [621, 722]);
    const { page, wrongs } = await console_.open({ api_key: seeded.reviewer });
    let send: () => void = () => undefined;
    const sent = new Promise<void>((resolve) => {
      send = resolve;
    });
    await page.route(/\/v1\/escalations\/[^/]+\/decision$/, async (route) => {
      await sent;
      await route.continue();
    });
    await page.goto("/review?agent_id=bot-stopped");
    await page.getByRole("button", { name: "Rule on all 2" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Block 2" }).click();
    await dialog.getByText("sending …").waitFor();
    await pressEscape(page);
    send();
    await dialog.getByText("1 of 2 done").waitFor();
    await dialog.getByRole("button", { name: "Go on" }).click();
    await dialog.getByText("2 of 2 done").waitFor();
    expect(await outcomes(raised)).toEqual(["block", "block"]);
    expect(wrongs).toEqual([]);
  });
});
