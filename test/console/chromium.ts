import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";

/**
 * The installed Chromium, or null (the tests are skipped). The headless shell has the same engine and needs a third of
 * the CPU time.
 */
export const chromiumPath: string | null =
  ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(
    (path) => existsSync(path),
  ) ?? null;

/** A name of this machine that the browser treats as remote: over http it disables features reserved for https. */
export const elsewhere = "elsewhere.test";

/**
 * No sandbox, because tests may run as root. No background requests. One process for all tabs saves a quarter of the
 * CPU time.
 */
const flags = [
  "--process-per-site",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--host-resolver-rules=MAP ${elsewhere} 127.0.0.1`,
];

/** Far longer than a page needs, because tests run on busy machines. */
export const patience_ms = 90_000;

export function startChromium(): Promise<Browser> {
  if (chromiumPath === null) throw new Error("there is no Chromium on this machine");
  return chromium.launch({ executablePath: chromiumPath, args: flags, timeout: 120_000 });
}

let shared: Promise<Browser> | undefined;

export async function sharedChromium(): Promise<Browser> {
  if ((await shared)?.isConnected() !== true) shared = startChromium();
  return shared as Promise<Browser>;
}

export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly wrongs: readonly string[];
}

export interface Look {
  readonly api_key?: string;
  /** Signs in with this session cookie, `name=value`. */
  readonly session?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** The reader's time zone; default: the machine's. */
  readonly zone?: string;
}

/** Opens a separate browser profile with its own cookies, storage and cache. */
export async function openContext(browser: Browser, base_url: string, zone?: string): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: base_url,
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
    reducedMotion: "reduce",
    locale: "en-GB",
    ...(zone === undefined ? {} : { timezoneId: zone }),
  });
  context.setDefaultTimeout(patience_ms);
  context.setDefaultNavigationTimeout(patience_ms);
  await context.addInitScript(
    `addEventListener("securitypolicyviolation", (event) =>
      console.error("policy", event.violatedDirective, event.sourceFile, event.lineNumber + ":" + event.columnNumber, event.sample))`,
  );
  return context;
}

export async function openPage(context: BrowserContext, base_url: string, look: Look = {}): Promise<Watched> {
  const page = await context.newPage();
  if (look.theme === "dark") await page.emulateMedia({ colorScheme: "dark" });
  if (look.width !== undefined) await page.setViewportSize({ width: look.width, height: look.height ?? 900 });
  if (look.api_key !== undefined)
    await page.addInitScript(`sessionStorage.setItem("countersign.api_key", ${JSON.stringify(look.api_key)})`);
  if (look.session !== undefined) {
    const [name = "", value = ""] = look.session.split("=");
    await context.addCookies([{ name, value, url: base_url, httpOnly: true, sameSite: "Lax" }]);
  }
  const wrongs: string[] = [];
  page.on("pageerror", (error) => wrongs.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // The browser also logs each failed request here. Tests check those elsewhere.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      wrongs.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== "data:" && origin !== base_url) wrongs.push(`request to ${request.url()}`);
  });
  page.on("dialog", (dialog) => void dialog.accept());
  return { page, context, wrongs };
}

/** Pages poll the service every 3 to 20 s. Tests shorten that. */
const polling = `{
  const { setInterval } = window;
  window.setInterval = (work, ms, ...given) => setInterval(work, Math.min(ms, 1_000), ...given);
}`;

export async function pollFast(page: Page): Promise<void> {
  await page.addInitScript(polling);
}

/**
 * Navigates inside the console, as its links do, because a reload takes five times as long. Recent answers stay cached:
 * use `goto` for data changed elsewhere.
 */
export async function follow(page: Page, path: string): Promise<void> {
  // A page that is still opening does not yet listen to its history.
  await page.evaluate(`(async () => {
    const router = __TSR_ROUTER__;
    const keyOf = (location) => location?.state.__TSR_key;
    const arrived = async () => {
      while (router.state.status !== "idle" || keyOf(router.state.resolvedLocation) !== keyOf(router.history.location))
        await new Promise((resolve) => setTimeout(resolve, 10));
    };
    await arrived();
    router.history.push(${JSON.stringify(path)});
    await arrived();
  })()`);
  const { pathname } = new URL(path, page.url());
  if (new URL(page.url()).pathname !== pathname) throw new Error(`${pathname} led to ${page.url()}`);
}

export async function addVirtualAuthenticator({ context, page }: Watched): Promise<void> {
  const device = await context.newCDPSession(page);
  await device.send("WebAuthn.enable");
  await device.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** Presses Escape three times: the browser closes a dialog at the second without asking the page. */
export async function pressEscape({ keyboard }: Page): Promise<void> {
  for (let count = 0; count < 3; count += 1) await keyboard.press("Escape");
}

/** Pastes through a clipboard event. For text inserted over coloured text, the browser would add a style attribute. */
export function paste(editor: Locator, text: string): Promise<void> {
  return editor.evaluate((element, pasted) => {
    const { DataTransfer, ClipboardEvent } = globalThis as unknown as Record<
      string,
      new (
        ...given: unknown[]
      ) => object
    >;
    const made = (kind: (new (...given: unknown[]) => object) | undefined, ...given: unknown[]) =>
      new (kind as new (...given: unknown[]) => object)(...given);
    const clipboardData = made(DataTransfer) as { setData(type: string, text: string): void };
    clipboardData.setData("text/plain", pasted);
    const event = made(ClipboardEvent, "paste", { clipboardData, bubbles: true, cancelable: true });
    (element as unknown as { dispatchEvent(event: object): void }).dispatchEvent(event);
  }, text);
}
