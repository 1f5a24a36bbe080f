import { beforeAll, expect, test } from "vitest";
import { in_dialog, violations } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import type { Person } from "./people.ts";
import { api, intent, type Seeded, seedOrganization, submit } from "./seed.ts";

const console_ = await consoleUnderTest();

const vaultPolicy = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "vault", title: "The vault stays shut" },
  spec: {
    match: { actions: ["other.vault"] },
    when: "true",
    effect: "block",
    override: "two_person",
    message: "Shut.",
  },
};

inBrowser("two people", () => {
  let seeded: Seeded;
  let people: readonly Person[];
  beforeAll(async () => {
    seeded = await seedOrganization(console_.url);
    const { admin, membrane_id } = seeded;
    people = [
      await console_.join(admin, "ann@example.com", "operator"),
      await console_.join(admin, "bob@example.com", "operator"),
    ];
    const saved = await api<{ policy: { policy_id: string } }>(console_.url, admin, "POST", "/v1/policies", {
      policy: vaultPolicy,
    });
    await api(console_.url, admin, "POST", `/v1/policies/${saved.policy.policy_id}/activate`, { mode: "live" });
    await api(console_.url, admin, "PATCH", `/v1/membranes/${membrane_id}`, {
      escalation: {
        quorum: 2,
        timeout_seconds: 3_600,
        on_timeout: "block",
        reviewers: [{ type: "role", id: "reviewer" }],
      },
    });
    await api(console_.url, admin, "POST", `/v1/membranes/${membrane_id}/go-live`);
  }, test_timeout_ms);

  const both = () => Promise.all(people.map(({ session }) => console_.open({ session })));

  test("override a block: the first sees that a second is needed, the second completes it, the next retry passes once", {
    timeout: test_timeout_ms,
  }, async () => {
    const body = intent("other.vault", { door: 1 });
    const blocked = await submit(console_.url, seeded.agent, body);
    const [ann, bob] = await both();
    if (ann === undefined || bob === undefined) throw new Error("there are two of them");
    const path = `/decisions/${blocked.intent_id}`;
    const standing = (of: typeof ann) => of.page.getByRole("region", { name: "Override" });
    await ann.page.goto(path);
    await ann.page.getByRole("button", { name: "Override this block" }).click();
    await ann.page.getByLabel("Reason").fill("The auditors are at the door");
    await ann.page.getByRole("button", { name: "Override", exact: true }).click();
    await standing(ann).getByText("One of two people has approved an override").waitFor();
    await standing(ann).getByText("It was you.").waitFor();
    expect(await violations(ann.page, { within: "[aria-label=Override]" })).toEqual([]);
    expect(await ann.page.getByRole("button", { name: /Override this|second person/ }).count()).toBe(0);
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("block");

    await bob.page.goto("/overrides");
    await bob.page.getByText("waits for a second person").waitFor();
    await follow(bob.page, path);
    await standing(bob).getByText("The auditors are at the door").waitFor();
    await standing(bob).getByText("ann@example.com").waitFor();
    await bob.page.getByRole("button", { name: "Approve as the second person" }).click();
    expect(await violations(bob.page, in_dialog)).toEqual([]);
    await bob.page.getByLabel("Reason").fill("I see them, too");
    await bob.page.getByRole("button", { name: "Override", exact: true }).click();
    for (const each of [bob, ann])
      await standing(each).getByText("the agent’s next attempt of the same action passes, once").waitFor();
    await bob.page.locator(".timeline").getByText("ann@example.com").first().waitFor();
    const passed = await submit(console_.url, seeded.agent, body);
    expect(passed.decision.verdict).toBe("approve");
    expect((await submit(console_.url, seeded.agent, body)).decision.verdict).toBe("block");
    await bob.page.reload();
    await standing(bob).getByRole("link", { name: "the attempt that passed" }).click();
    await bob.page.getByText(passed.intent_id).first().waitFor();
    expect([...ann.wrongs, ...bob.wrongs]).toEqual([]);
  });

  test("approve a changed action: the second sees what the first changed, and approves the same", {
    timeout: test_timeout_ms,
  }, async () => {
    const body = intent("other.refund", { amount_usd: 700, currency: "USD" });
    const raised = await submit(console_.url, seeded.agent, body);
    const path = `/escalations/${raised.decision.escalation_id}`;
    const [ann, bob] = await both();
    if (ann === undefined || bob === undefined) throw new Error("there are two of them");
    await ann.page.goto(path);
    await ann.page.getByRole("button", { name: /^With changes/ }).click();
    await ann.page.getByRole("button", { name: "As JSON" }).click();
    await ann.page.getByLabel("Parameters as JSON").fill('{"amount_usd": 450, "currency": "USD"}');
    await ann.page.getByRole("button", { name: /^Approve changed action/ }).click();
    await ann.page.getByText("Vote counted; more approvals are needed").waitFor();
    await bob.page.goto(path);
    const review = bob.page.getByRole("region", { name: "Review" });
    await review.getByText("450").waitFor();
    expect(await violations(bob.page, { within: "[aria-label=Review]" })).toEqual([]);
    await bob.page.getByRole("button", { name: /^Approve the same/ }).click();
    const dialog = bob.page.getByRole("dialog");
    await dialog.getByText("700").waitFor();
    await dialog.getByText("450").waitFor();
    expect(await violations(bob.page, in_dialog)).toEqual([]);
    await dialog.getByRole("button", { name: /^Approve/ }).click();
    await bob.page.getByText("Outcome: approved with changes").waitFor();
    // People with the page open see the approved change, not the requested one.
    for (const { page } of [bob, ann]) {
      await page.getByText("A reviewer changed the action.").waitFor();
      const approved = page.getByRole("region", { name: "Changes to the parameters" });
      await approved.getByText("450").waitFor();
    }
    await review.getByText("700").first().waitFor();
    const { decision } = await api<{ decision: { modified_content: object | null } }>(
      console_.url,
      seeded.agent,
      "GET",
      `/v1/intents/${raised.intent_id}/decision`,
    );
    expect(decision.modified_content).toEqual({ amount_usd: 450, currency: "USD" });
    expect([...ann.wrongs, ...bob.wrongs]).toEqual([]);
  });

  test("approve a held action: after the first it waits and says for whom, after the second the agent continues", {
    timeout: test_timeout_ms,
  }, async () => {
    const raised = await submit(console_.url, seeded.agent, intent("other.refund", { amount_usd: 800 }));
    const decision = async () =>
      (
        await api<{ decision: { outcome: string | null } }>(
          console_.url,
          seeded.agent,
          "GET",
          `/v1/intents/${raised.intent_id}/decision`,
        )
      ).decision;
    const [ann, bob] = await both();
    if (ann === undefined || bob === undefined) throw new Error("there are two of them");
    const approve = async ({ page }: typeof ann) => {
      await page.goto(`/escalations/${raised.decision.escalation_id}`);
      await page.getByRole("button", { name: /^Approve/ }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^Approve/ })
        .click();
    };
    await approve(ann);
    await ann.page.getByText("Vote counted; more approvals are needed").waitFor();
    await ann.page.getByRole("region", { name: "Review" }).getByText("One more person has to approve").waitFor();
    await ann.page.getByText("1 of 2 approvals given").waitFor();
    expect(await ann.page.getByRole("button", { name: /You have approved/ }).isDisabled()).toBe(true);
    expect(await violations(ann.page, { within: "[aria-label=Review]" })).toEqual([]);
    expect((await decision()).outcome).toBeNull();
    await approve(bob);
    await bob.page.getByText("Outcome: approved").waitFor();
    await ann.page.getByText("Outcome: approved").waitFor();
    expect((await decision()).outcome).toBe("approve");
    expect([...ann.wrongs, ...bob.wrongs]).toEqual([]);
  });
});
