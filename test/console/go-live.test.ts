import { expect, test } from "vitest";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { counted } from "./counted.ts";
import { intent, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

/**
 * At commit 852b97c0, without readiness: the page of membranes and the link to what would have been held (2); three
 * decisions opened, and back to the list (5); the pages of agents, webhooks, keys and people (4); the page of membranes
 * again, the button, and the confirmation (3). What was right or wrong was noted elsewhere.
 */
const actions_before = 14;

inBrowser("the job: go live, knowing what it rests on and after a look at three holds", () => {
  test(`takes at most half of the ${actions_before} keystrokes and clicks that it took earlier`, {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedOrganization(console_.url);
    for (const amount_usd of [740, 760, 910])
      await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }));
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/");
    const person = counted(page);
    await person.click(page.getByRole("link", { name: "Membranes", exact: true }));
    const card = page.getByRole("region", { name: "default", exact: true });
    await card.getByText("3 decisions in shadow in the last 31 days. 200 are needed.").waitFor();
    await person.click(card.getByRole("button", { name: "Label 3 holds" }));
    for (const [key, next] of [
      ["r", "2 of 3"],
      ["r", "3 of 3"],
      ["w", "That was all 3. You called 1 wrong."],
    ] as const) {
      await person.press(key);
      await page.getByText(next).waitFor();
    }
    await card.getByText("1 of 3 labelled").waitFor();
    await person.click(card.getByRole("button", { name: "Go live" }));
    await page.getByRole("dialog").getByText("It is not ready yet:").waitFor();
    await person.click(page.getByRole("dialog").getByRole("button", { name: "Go live" }));
    await page.getByText("Live: its decisions are enforced from now on").waitFor();
    expect(person.count()).toBeLessThanOrEqual(actions_before / 2);
    expect(wrongs).toEqual([]);
  });
});
