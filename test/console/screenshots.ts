/**
 * `npm run screenshots`: pictures every page, light and dark, 1440 and 390 px wide, into tmp/screenshots. An argument
 * limits them to the pages with names that begin with it.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BrowserContext } from "playwright-core";
import { showWhole } from "./accessibility.ts";
import { openContext, openPage, startChromium } from "./chromium.ts";
import { type Address, type EveryPage, seedEveryPage } from "./every-page.ts";
import { joinOrganization, linkIn } from "./people.ts";
import { startService } from "./started-service.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const out = join(root, "tmp/screenshots");
const only = process.argv[2] ?? "";

const looks = (["light", "dark"] as const).flatMap((theme) => [
  { theme, width: 1440, height: 900 },
  { theme, width: 390, height: 844 },
]);

/** Opens a dialog or a list on a page. */
interface Picture extends Address {
  readonly click?: string;
  readonly press?: string;
}

const opened: readonly Picture[] = [
  { name: "review-group", path: "/review", as: "key", click: "Rule on all 3" },
  { name: "membrane-new", path: "/membranes", as: "key", click: "Add a membrane" },
  { name: "membranes-go-live", path: "/membranes", as: "shadow", click: "Go live" },
  { name: "webhook-new", path: "/webhooks", as: "key", click: "Add a webhook" },
  { name: "key-new", path: "/keys", as: "key", click: "Create a key" },
  { name: "stream-new", path: "/streams", as: "key", click: "Add a stream" },
  { name: "channels-slack", path: "/channels", as: "key", click: "Connect Slack" },
  { name: "palette", path: "/", as: "key", press: "Control+k" },
  { name: "keyboard", path: "/decisions", as: "key", press: "?" },
];

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

/** Accepts every second delivery. */
async function startReceiver() {
  let accepts = false;
  const server = createServer((_, response) => {
    accepts = !accepts;
    response.writeHead(accepts ? 200 : 500).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, close: () => server.close() };
}

const browser = await startChromium();

/** One browser profile for each caller, because pages load faster from its cache. */
const contexts = new Map<string, Promise<BrowserContext>>();

function contextOf(url: string, as: string): Promise<BrowserContext> {
  const context = contexts.get(as) ?? openContext(browser, url);
  contexts.set(as, context);
  return context;
}

async function picture(
  url: string,
  every: EveryPage,
  look: (typeof looks)[number],
  { name, path, as, click, press }: Picture,
) {
  const { page, wrongs } = await openPage(await contextOf(url, as), url, { ...look, ...every.callers[as] });
  await page.goto(path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await showWhole(page, look);
  await page.waitForLoadState("networkidle");
  if (click !== undefined) await page.getByRole("button", { name: click }).first().click();
  if (press !== undefined) await page.keyboard.press(press);
  if (click !== undefined || press !== undefined) {
    await page.locator("dialog[open]").waitFor();
    await page.waitForLoadState("networkidle");
  }
  await showWhole(page, look);
  await page.screenshot({ path: join(out, `${name}-${look.theme}-${look.width}.png`), fullPage: true });
  for (const wrong of wrongs) console.error(`${name} (${look.theme}, ${look.width} px): ${wrong}`);
  await page.close();
}

const data_dir = await mkdtemp(join(tmpdir(), "screenshots-"));
const receiver = await startReceiver();
const service = await startService(data_dir, {
  COUNTERSIGN_WEBHOOK_ALLOW_CIDRS: "127.0.0.1/32",
  COUNTERSIGN_WEBHOOK_ALLOW_HTTP: "true",
});
try {
  const every = await seedEveryPage(service.url, receiver.url, (admin) =>
    joinOrganization(service.url, admin, { email: "ann@example.com", role: "admin" }, () =>
      mailedPath(data_dir, "ann@example.com"),
    ),
  );
  const pictures = [...Object.values(every.by_route).flat(), ...opened].filter(({ name }) => name.startsWith(only));
  await mkdir(out, { recursive: true });
  for (const look of looks) for (const each of pictures) await picture(service.url, every, look, each);
  console.log(`${out}: ${pictures.length} pages, light and dark, 1440 and 390 px`);
} finally {
  await browser.close();
  await service.stop();
  receiver.close();
  await rm(data_dir, { recursive: true, force: true, maxRetries: 5 });
}
