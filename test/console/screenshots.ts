/** `npm run screenshots`: pictures every page, light and dark, wide and 360 px narrow, into tmp/screenshots. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openContext, openPage, startChromium } from "./chromium.ts";
import { joinOrganization, linkIn } from "./people.ts";
import { api, intent, seedActivity, seedOrganization, submit } from "./seed.ts";
import { startService } from "./started-service.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const out = join(root, "tmp/screenshots");
const only = process.argv[2];

/** Waits for a mail in the outbox of a service without SMTP. Returns the path of its link. */
async function mailedPath(data_dir: string, to: string): Promise<string> {
  const outbox = join(data_dir, "outbox");
  for (;;) {
    const names = existsSync(outbox) ? await readdir(outbox) : [];
    for (const name of names.filter((each) => each.endsWith(".eml"))) {
      const mail = await readFile(join(outbox, name), "utf8");
      if (mail.includes(`To: ${to}`)) return linkIn(mail);
    }
    await setTimeout(100);
  }
}

const data_dir = await mkdtemp(join(tmpdir(), "screenshots-"));
const service = await startService(data_dir);
const browser = await startChromium();
try {
  const seeded = await seedOrganization(service.url);
  await seedActivity(service.url, seeded);
  const ann = await joinOrganization(service.url, seeded.admin, { email: "ann@example.com", role: "admin" }, () =>
    mailedPath(data_dir, "ann@example.com"),
  );
  await api(service.url, seeded.admin, "POST", "/v1/auth/invitations", { email: "bob@example.com", role: "reviewer" });
  const list = await api<{ escalations: { escalation_id: string }[] }>(
    service.url,
    seeded.admin,
    "GET",
    "/v1/escalations?status=pending",
  );
  const blocked = await api<{ intents: { intent_id: string }[] }>(
    service.url,
    seeded.admin,
    "GET",
    "/v1/intents?verdict=block",
  );
  const changed = await api<{ intents: { intent_id: string }[] }>(
    service.url,
    seeded.admin,
    "GET",
    "/v1/intents?verdict=approve_modified",
  );
  const overridden = `/v1/intents/${blocked.intents[1]?.intent_id}/override`;
  await api(service.url, seeded.operator, "POST", overridden, { reason: "The auditors asked for it" });
  const watching = await seedOrganization(service.url);
  for (const amount_usd of [40, 60, 740, 910])
    await submit(service.url, watching.agent, intent("other.refund", { amount_usd }));
  await submit(service.url, watching.agent, intent("other.export", { rows: 20_000 }));
  await submit(service.url, watching.agent, intent("outreach.letter", { pages: 2 }));
  const callers = {
    key: { api_key: seeded.admin },
    shadow: { api_key: watching.admin },
    person: { session: ann.session },
    nobody: {},
  };
  /** `click`: the button that opens a dialog. */
  const pages: readonly (readonly [name: string, path: string, as?: keyof typeof callers, click?: string])[] = [
    ["sign-in", "/review", "nobody"],
    ["welcome", "/welcome", "nobody"],
    ["signup", "/signup", "nobody"],
    ["invitation", "/invitation?token=a", "nobody"],
    ["overview", "/"],
    ["review", "/review"],
    ["escalation-hostile", `/escalations/${list.escalations[0]?.escalation_id}`],
    ["escalation", `/escalations/${list.escalations[1]?.escalation_id}`],
    ["review-group", "/review", "key", "Rule on all 3"],
    ["review-shadow", "/review", "shadow"],
    ["overview-shadow", "/", "shadow"],
    ["decisions", "/decisions"],
    ["decision-blocked", `/decisions/${blocked.intents[0]?.intent_id}`],
    ["decision-overridden", `/decisions/${blocked.intents[1]?.intent_id}`],
    ["decision-changed", `/decisions/${changed.intents[0]?.intent_id}`],
    ["policies", "/policies"],
    ["policy", `/policies/${seeded.policy_id}`],
    ["policy-new", "/policies/new"],
    ["packs", "/packs"],
    ["membranes", "/membranes"],
    ["membranes-shadow", "/membranes", "shadow"],
    ["membrane-new", "/membranes", "key", "Add a membrane"],
    ["backtest", "/backtest"],
    ["agents", "/agents"],
    ["agent", "/agent?id=support-bot"],
    ["budgets", "/budgets"],
    ["overrides", "/overrides"],
    ["grants", "/grants"],
    ["webhooks", "/webhooks"],
    ["keys", "/keys"],
    ["people", "/people", "person"],
    ["usage", "/usage"],
    ["audit", "/audit"],
    ["settings", "/settings"],
    ["account", "/settings", "person"],
  ];
  await mkdir(out, { recursive: true });
  for (const look of [
    { theme: "light", width: 1280, suffix: "light" },
    { theme: "dark", width: 1280, suffix: "dark" },
    { theme: "light", width: 360, suffix: "narrow" },
  ] as const) {
    for (const [name, path, as = "key", click] of pages) {
      if (only !== undefined && !name.startsWith(only)) continue;
      const { page, context, wrongs } = await openPage(await openContext(browser, service.url), service.url, {
        ...look,
        ...callers[as],
      });
      await page.goto(path, { waitUntil: "networkidle" });
      if (click !== undefined) await page.getByRole("button", { name: click }).click();
      // Makes the window as high as the content, because sticky elements stay at its edge.
      const height = Number(await page.evaluate("document.documentElement.scrollHeight"));
      await page.setViewportSize({ width: look.width, height: Math.max(800, height) });
      await page.screenshot({ path: join(out, `${name}-${look.suffix}.png`), fullPage: true });
      for (const wrong of wrongs) console.error(`${name} (${look.suffix}): ${wrong}`);
      await context.close();
    }
  }
  console.log(`${out}: ${pages.length} pages, light, dark and narrow`);
} finally {
  await browser.close();
  await service.stop();
  await rm(data_dir, { recursive: true, force: true, maxRetries: 5 });
}
