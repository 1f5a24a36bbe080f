import { beforeAll, expect, test } from "vitest";
import { violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type Seeded, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();
const read = (verb: string) => ({
  intent: { agent: { id: "night-worker", session_id: "run-7" }, action: { type: "other.note", verb } },
});

inBrowser("agents", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an admin registers an agent and its sub-agent, and freezes the agent on its page", {
    timeout: test_timeout_ms,
  }, async () => {
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    await page.getByRole("link", { name: "Agents", exact: true }).click();
    const fill = async (agent_id: string, parent_id: string) => {
      await page.getByRole("button", { name: "Register an agent" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Agent id").fill(agent_id);
      await dialog.getByLabel("Owner").fill("Ann");
      await dialog.getByLabel("Works for the agent").fill(parent_id);
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("cell", { name: agent_id, exact: true }).first().waitFor();
    };
    await fill("planner", "");
    await fill("night-worker", "Planner");
    expect(await violations(page)).toEqual([]);
    await page
      .getByRole("row", { name: /^planner/ })
      .getByRole("link", { name: "planner" })
      .click();
    await page.getByRole("link", { name: "night-worker" }).waitFor();
    await page.getByRole("button", { name: "Freeze" }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("It plans nonsense");
    await page.getByRole("dialog").getByRole("button", { name: "Freeze" }).click();
    await page.getByText("It plans nonsense").waitFor();
    expect(await violations(page)).toEqual([]);
    const stopped = await submit(console_.url, seeded.agent, read("note"));
    expect(stopped.decision.verdict).toBe("block");
    await page.goto(`/decisions/${stopped.intent_id}`);
    await page.getByText("Rules about these agents counted, too:").waitFor();
    expect(wrongs).toEqual([]);
  });

  test("the actions of a run are shown in their order, from one of its decisions", {
    timeout: test_timeout_ms,
  }, async () => {
    const [first] = [
      await submit(console_.url, seeded.agent, read("open_file")),
      await submit(console_.url, seeded.agent, read("send_mail")),
    ];
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(`/decisions/${first.intent_id}`);
    await page.getByRole("link", { name: "run-7" }).click();
    const run = page.getByRole("region", { name: "Run" });
    await run.getByText("send_mail").first().waitFor();
    const rows = await run.getByRole("listitem").allTextContents();
    const at = (verb: string) => rows.findIndex((row) => row.includes(verb));
    expect(at("send_mail")).toBe(at("open_file") + 1);
    expect(await violations(page)).toEqual([]);
    expect(wrongs).toEqual([]);
  });
});
