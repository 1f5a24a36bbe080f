/** Source: decision 0041. */
import { expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

interface Listed {
  readonly api_keys: readonly {
    readonly name: string | null;
    readonly bindings: object | null;
    readonly role: string;
  }[];
}

inBrowser("bound keys", () => {
  test("an agent's key is created bound; unbound keys and submitting admin keys are named, and a click fixes each", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const loose = await api<{ api_key: string }>(console_.url, seeded.admin, "POST", "/v1/api-keys", { name: "loose" });
    const thing = intent("other.thing", {});
    const agent_id = thing.intent.agent.id;
    for (const key of [loose.api_key, seeded.admin]) await submit(console_.url, key, thing);
    const named = async (name: string) =>
      (await api<Listed>(console_.url, seeded.admin, "GET", "/v1/api-keys")).api_keys.find((key) => key.name === name);
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    const warned = page
      .getByRole("region", { name: "Needs attention" })
      .getByRole("listitem")
      .filter({ hasText: "loose" });
    await warned.getByText("API key loose: unbound while a membrane is live").waitFor();
    await warned.getByRole("link", { name: "See the keys" }).click();

    const row = page.getByRole("row").filter({ hasText: "loose" });
    await row.getByRole("button", { name: "Bind" }).click();
    await page.getByText("the key's 1 decisions").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    expect(await page.getByLabel("Agents").inputValue()).toBe(agent_id);
    await page.getByRole("dialog").getByRole("button", { name: "Bind" }).click();
    await row.getByText(`agents: ${agent_id}`).waitFor();
    await row.getByText("unbound while a membrane is live").waitFor({ state: "detached" });
    expect((await named("loose"))?.bindings).toMatchObject({ agent_ids: [agent_id], forbid_shadow: true });

    await page.getByRole("button", { name: "Make an agent key" }).first().click();
    await page.getByLabel("Name").fill("in place of admin");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect(await named("in place of admin")).toMatchObject({ role: "agent", bindings: { agent_ids: [agent_id] } });

    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("new bot");
    await page.getByLabel("Networks").fill("10.1.0.0/16\n192.0.2.7");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect((await named("new bot"))?.bindings).toMatchObject({
      membrane_ids: [expect.stringMatching(/^mem_/)],
      source_cidrs: ["10.1.0.0/16", "192.0.2.7/32"],
      forbid_shadow: true,
    });
    expect(wrongs).toEqual([]);
  });
});
