import { expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { api, intent, seedLive, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("a reassigned review", () => {
  test("offers no ruling to former reviewers, reports it in an open dialog, and later shows the buttons again", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const bob = await console_.join(seeded.admin, "bob@example.com", "reviewer");
    const cleo = await console_.join(seeded.admin, "cleo@example.com", "operator");
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    const path = `/escalations/${raised.decision.escalation_id}`;
    const handTo = (type: "role" | "user", id: string) =>
      api(console_.url, seeded.admin, "POST", `/v1${path}/reassign`, { reviewers: [{ type, id }] });
    const { page, wrongs } = await console_.open({ session: bob.session });
    await page.goto(path);
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.keyboard.type("looks right");
    await handTo("user", cleo.user_id);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("An operator has reassigned this meanwhile").waitFor();
    expect(await dialog.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByText(`Assigned to: ${cleo.email}.`).waitFor();
    expect(await page.locator(".rulebar button").count()).toBe(0);
    await page.keyboard.press("a");
    expect(await dialog.count()).toBe(0);
    const hers = await console_.open({ session: cleo.session });
    await hers.page.goto(path);
    await hers.page.locator(".rulebar button:enabled", { hasText: "Approve" }).waitFor();
    await handTo("role", "reviewer");
    await page.locator(".rulebar button:enabled", { hasText: "Approve" }).waitFor();
    await handTo("role", "admin");
    await hers.page.getByText("Assigned to: any admin.").waitFor();
    expect(await hers.page.locator(".rulebar button:enabled").allTextContents()).toEqual(["Reassign", "Cancel review"]);
    expect([...wrongs, ...hers.wrongs]).toEqual([]);
  });

  test("shows the rules and the current panel; members of a later panel can block, and approve in their turn", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const first = await console_.join(seeded.admin, "fay@example.com", "reviewer");
    const second = await console_.join(seeded.admin, "guy@example.com", "reviewer");
    for (const [name, user, after] of [
      ["look", first],
      ["money", second, "look"],
    ] as const) {
      const escalation = { reviewers: [`user:${user.user_id}`], ...(after === undefined ? {} : { after }) };
      const spec = { match: { actions: ["other.order"] }, when: "true", effect: "escalate", escalation };
      const policy = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name }, spec };
      const saved = await api<{ policy: { policy_id: string } }>(console_.url, seeded.admin, "POST", "/v1/policies", {
        policy,
      });
      const path = `/v1/policies/${saved.policy.policy_id}/activate`;
      await api(console_.url, seeded.admin, "POST", path, { mode: "live" });
    }
    const raised = await submit(console_.url, seeded.agent, intent("other.order", { chairs: 4 }));
    const path = `/escalations/${raised.decision.escalation_id}`;
    const { page, wrongs } = await console_.open({ session: second.session });
    await page.goto(path);
    const panels = page.getByRole("list", { name: "Who must approve" }).getByRole("listitem");
    await expect
      .poll(async () => (await panels.allTextContents()).filter((text) => text.includes("Rule ")))
      .toEqual([
        "openRule look0 of 1 approvals by fay@example.com.",
        "waitingRule money0 of 1 approvals by guy@example.com. Its turn comes after look.",
      ]);
    await page.getByText("Your turn to approve comes after look. You can block now.").waitFor();
    expect(await page.locator(".rulebar > button:enabled").allTextContents()).toEqual(["Block b"]);
    expect(await violations(page, { within: "[aria-label=Review]" })).toEqual([]);
    const ahead = await console_.open({ session: first.session });
    await ahead.page.goto(path);
    await ahead.page.locator(".rulebar button:enabled").first().waitFor();
    await ahead.page.keyboard.press("a");
    await ahead.page.keyboard.press("Control+Enter");
    await page.locator(".rulebar button:enabled", { hasText: "Approve" }).waitFor();
    expect([...wrongs, ...ahead.wrongs]).toEqual([]);
  });

  test("is not in the menu's count for people who cannot decide it or have already voted", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const eve = await console_.join(seeded.admin, "eva@example.com", "reviewer");
    await api(console_.url, seeded.admin, "PATCH", `/v1/membranes/${seeded.membrane_id}`, {
      escalation: { quorum: 2 },
    });
    const raise = (amount_usd: number) =>
      submit(console_.url, seeded.agent, intent("other.refund", { amount_usd }, { agent: `bot-${amount_usd}` }));
    const [voted, handed] = [await raise(901), await raise(902), await raise(903)];
    const reviewers = [{ type: "role", id: "operator" }];
    await api(console_.url, seeded.admin, "POST", `/v1/escalations/${handed.decision.escalation_id}/reassign`, {
      reviewers,
    });
    const { page, wrongs } = await console_.open({ session: eve.session });
    const counted = async () => {
      const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Review queue/ });
      return (await link.textContent())?.replace("Review queue", "");
    };
    await page.goto(`/escalations/${voted.decision.escalation_id}`);
    await expect.poll(counted).toBe("2 waiting");
    await page.locator(".rulebar button:enabled").first().waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Control+Enter");
    await page.getByText("1 of 2 approvals given").waitFor();
    await expect.poll(counted).toBe("1 waiting");
    // If more pages follow, the count must not read as zero.
    await page.route(/\/v1\/escalations\?.*limit=100/, (route) =>
      route.fulfill({ json: { escalations: [], next_cursor: "c" } }),
    );
    await page.goto("/decisions");
    await expect.poll(counted).toBe("0+ waiting");
    const read = await console_.open({ api_key: seeded.auditor });
    await read.page.goto("/review");
    await read.page.getByRole("link", { name: /^Review queue ?3 waiting/ }).waitFor();
    expect([...wrongs, ...read.wrongs]).toEqual([]);
  });

  test("is left out of a group ruling by people who are not its reviewers, and names the reviewers", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const eve = await console_.join(seeded.admin, "eve@example.com", "reviewer");
    const raise = (target: string) =>
      submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }, { target }));
    const raised = [await raise("cus_1"), await raise("cus_2"), await raise("cus_3")];
    const paths = raised.map(({ decision }) => `/v1/escalations/${decision.escalation_id}`);
    const reviewers = [{ type: "role", id: "operator" }];
    await api(console_.url, seeded.admin, "POST", `${paths[1]}/reassign`, { reviewers });
    const { page, wrongs } = await console_.open({ session: eve.session });
    await page.goto("/review");
    await page.getByRole("button", { name: "Rule on all 3" }).click();
    const dialog = page.getByRole("dialog");
    const others = dialog.getByRole("row").filter({ hasText: "cus_2" });
    await others.getByText("Assigned to: any operator.").waitFor();
    expect(await others.getByRole("checkbox").isDisabled()).toBe(true);
    expect(await others.getByRole("checkbox").isChecked()).toBe(false);
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: "Approve 2" }).click();
    await dialog.getByText("2 of 2 done").waitFor();
    const statuses = paths.map((path) =>
      api<{ escalation: { status: string } }>(console_.url, seeded.admin, "GET", path).then(
        (each) => each.escalation.status,
      ),
    );
    expect(await Promise.all(statuses)).toEqual(["decided", "pending", "decided"]);
    expect(wrongs).toEqual([]);
  });

  test("is reassigned to people chosen by address, without ids", {
    timeout: test_timeout_ms,
  }, async () => {
    const seeded = await seedLive(console_.url);
    const finn = await console_.join(seeded.admin, "finn@example.com", "reviewer");
    const gus = await console_.join(seeded.admin, "gus@example.com", "operator");
    await console_.join(seeded.admin, "hal@example.com", "auditor");
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 900 }));
    const path = `/escalations/${raised.decision.escalation_id}`;
    const { page, wrongs } = await console_.open({ api_key: seeded.operator });
    await page.goto(path);
    await page.getByRole("button", { name: "Reassign" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Who decides").selectOption("Certain people");
    await dialog.getByLabel(finn.email).check();
    expect(await dialog.getByLabel("hal@example.com").count()).toBe(0);
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel(gus.email).check();
    await dialog.getByLabel(finn.email).uncheck();
    expect(await dialog.getByRole("button", { name: "Hand over" }).isEnabled()).toBe(true);
    await dialog.getByLabel(gus.email).uncheck();
    expect(await dialog.getByRole("button", { name: "Hand over" }).isDisabled()).toBe(true);
    await dialog.getByLabel(gus.email).check();
    await dialog.getByLabel(finn.email).check();
    await dialog.getByRole("button", { name: "Hand over" }).click();
    await page.getByText(`Decided by: ${gus.email}, ${finn.email}.`).waitFor();
    const { escalation } = await api<{ escalation: { reviewers: object } }>(
      console_.url,
      seeded.admin,
      "GET",
      `/v1${path}`,
    );
    expect(escalation.reviewers).toEqual([
      { type: "user", id: gus.user_id },
      { type: "user", id: finn.user_id },
    ]);
    const ida = await console_.join(seeded.admin, "ida@example.com", "reviewer");
    await page.getByRole("button", { name: "Reassign" }).click();
    await dialog.getByLabel("Who decides").selectOption("Certain people");
    await dialog.getByLabel(ida.email).check();
    expect(wrongs).toEqual([]);
  });
});
