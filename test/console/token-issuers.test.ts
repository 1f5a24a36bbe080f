import { beforeAll, expect, test } from "vitest";
import { tokenKey } from "../../packages/server/src/testing/tokens.ts";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { intent, type Seeded, seedLive } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("token issuers", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an admin adds an issuer, the decision page says what it verified, and the admin removes it", {
    timeout: test_timeout_ms,
  }, async () => {
    const key = await tokenKey("k1");
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/settings");
    const issuers = page.getByRole("region", { name: "Token issuers" });
    await issuers.getByText("No issuer is trusted.").waitFor();
    await issuers.getByRole("button", { name: "Add an issuer" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Issuer or trust domain").fill("https://idp.example");
    await dialog.getByLabel("Audience").fill("countersign");
    const keys = dialog.getByLabel("Address of the key set, or the key set");
    await keys.fill("no JSON");
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByText("Give an https address, or a JSON Web Key Set.").waitFor();
    expect(await violations(page, in_dialog)).toEqual([]);
    await keys.fill(JSON.stringify({ keys: [key.jwk] }));
    await dialog.getByRole("button", { name: "Add" }).click();
    await issuers.getByRole("cell", { name: "https://idp.example" }).waitFor();
    expect(await violations(page)).toEqual([]);

    const exp = Date.now() / 1_000 + 600;
    const token = await key.sign({ iss: "https://idp.example", sub: "bot", aud: "countersign", exp });
    const answer = await fetch(`${console_.url}/v1/intents`, {
      method: "POST",
      headers: { "X-API-Key": seeded.agent, "Content-Type": "application/json", "Agent-Token": token },
      body: JSON.stringify(intent("other.note", { rows: 1 })),
    });
    const { intent_id } = (await answer.json()) as { intent_id: string };
    await page.goto(`/decisions/${intent_id}`);
    await page
      .getByRole("row", { name: /authenticated_agent_id.*verified by https:\/\/idp\.example/ })
      .first()
      .waitFor();

    await page.goto("/settings");
    await issuers.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await issuers.getByText("No issuer is trusted.").waitFor();
    expect(wrongs).toEqual([]);
  });
});
