import { beforeAll, expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("overriding", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an operator overrides a block with a reason, and the agent's next try passes", {
    timeout: test_timeout_ms,
  }, async () => {
    const body = intent("other.export", { rows: 5_000, table: "customers" });
    const blocked = await submit(console_.url, seeded.agent, body);
    expect(blocked.decision.verdict).toBe("block");
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${blocked.intent_id}`);
    await page.getByRole("button", { name: "Override this block" }).click();
    await page.getByLabel("Reason").fill("The auditors asked for it");
    await page.getByRole("button", { name: "Override", exact: true }).click();
    await page.getByText("Approved by a person").waitFor();
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("approve");
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("block");
    await page.getByRole("link", { name: "Overrides" }).click();
    await page.getByRole("cell", { name: "The auditors asked for it" }).waitFor();
    expect(wrongs).toEqual([]);
  });

  test("no override is offered if a rule of a pack or of the organization forbids it, and the rule is named", {
    timeout: test_timeout_ms,
  }, async () => {
    await api(console_.url, seeded.admin, "PATCH", `/v1/membranes/${seeded.membrane_id}`, { packs: ["account"] });
    const policy = {
      apiVersion: "countersign/v1",
      kind: "Policy",
      metadata: { name: "no-wipe" },
      spec: { match: { verbs: ["wipe"] }, when: "true", effect: "block", override: "never" },
    };
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
      policy,
    });
    const activate = `/v1/policies/${saved.policy.policy_id}/activate`;
    await api(console_.url, seeded.admin, "POST", activate, { mode: "live" });
    const wiped = await submit(console_.url, seeded.agent, {
      intent: { agent: { id: "bot-9" }, action: { type: "data.delete", verb: "wipe" } },
    });
    const unpaid = await submit(console_.url, seeded.agent, {
      intent: {
        agent: { id: "bot-9" },
        action: { type: "payment.transfer", verb: "send_money" },
        payload: { content: { amount_usd: 10 } },
      },
      context: {
        contract_version: "1",
        facts: { entity_state: { account_status: "active", account_balance_usd: 1 } },
      },
    });
    expect([wiped.decision.verdict, unpaid.decision.verdict]).toEqual(["block", "block"]);
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`/decisions/${wiped.intent_id}`);
    await page.getByText("Nobody may override this block: no-wipe forbids it.").waitFor();
    expect(await page.getByRole("button", { name: "Override this block" }).count()).toBe(0);
    await page.goto(`/decisions/${unpaid.intent_id}`);
    await page.getByText("Nobody may override this block: account.sufficient-balance forbids it.").waitFor();
    expect(await page.getByRole("button", { name: "Override this block" }).count()).toBe(0);
    expect(asked.filter((path) => path.includes("sufficient-balance"))).toEqual([]);
    expect(wrongs).toEqual([]);
  });

  test("whether an override is offered depends on the live version of a policy, not on its name or other versions", {
    timeout: test_timeout_ms,
  }, async () => {
    const policy = (name: string, verb: string, override: string) => ({
      policy: {
        apiVersion: "countersign/v1",
        kind: "Policy",
        metadata: { name },
        spec: { match: { verbs: [verb] }, when: "true", effect: "block", override },
      },
    });
    const put = async (name: string, verb: string, override = "reviewer") => {
      const { admin } = seeded;
      const body = policy(name, verb, override);
      type Saved = { policy: { policy_id: string } };
      const { policy_id } = (await api<Saved>(console_.url, admin, "POST", "/v1/policies", body)).policy;
      await api(console_.url, admin, "POST", `/v1/policies/${policy_id}/activate`, { mode: "live" });
      return policy_id;
    };
    // The pack rule of this name forbids overrides.
    await put("ccpa.gpc", "sell");
    const changed = await put("may-be", "rename");
    await api(console_.url, seeded.admin, "PUT", `/v1/policies/${changed}`, policy("may-be", "rename", "never"));
    const kept = await put("must-not-be", "purge", "never");
    await api(console_.url, seeded.admin, "PUT", `/v1/policies/${kept}`, policy("must-not-be", "purge", "reviewer"));
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    const openBlocked = async (verb: string) => {
      const { decision, intent_id } = await submit(console_.url, seeded.agent, {
        intent: { agent: { id: "bot-9" }, action: { type: "data.export", verb } },
      });
      expect(decision.verdict).toBe("block");
      await page.goto(`/decisions/${intent_id}`);
    };
    for (const verb of ["sell", "rename"]) {
      await openBlocked(verb);
      await page.getByRole("button", { name: "Override this block" }).waitFor();
    }
    await openBlocked("purge");
    await page.getByText("Nobody may override this block: must-not-be forbids it.").waitFor();
    expect(asked).toContain(`/v1/policies/${changed}`);
    expect(wrongs).toEqual([]);
  });
});
