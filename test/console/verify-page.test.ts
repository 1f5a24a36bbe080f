/** The page that verifies receipts, as a file, without a network. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyPage } from "../../packages/console/verify-page.ts";
import { sidewaysOf, violationsInBoth } from "./accessibility.ts";
import { patience_ms, sharedChromium } from "./chromium.ts";
import { inBrowser, test_timeout_ms } from "./console-under-test.ts";

interface Vector {
  readonly name: string;
  readonly receipt: string;
  readonly keys: readonly string[];
  readonly known?: { readonly checkpoint: string; readonly proof: readonly string[] };
  readonly proved: readonly string[];
  readonly not_proved: readonly string[];
  readonly forgeries: readonly { readonly name: string; readonly receipt: string; readonly check: string }[];
}

inBrowser("the page that verifies receipts", () => {
  let vectors: readonly Vector[];
  let directory: string;
  let context: BrowserContext;
  let page: Page;
  let wrongs: string[];

  beforeAll(async () => {
    vectors = JSON.parse(await readFile(join(import.meta.dirname, "../evidence/vectors/receipts.json"), "utf8"));
    directory = await mkdtemp(join(tmpdir(), "countersign-verify-page-"));
    await writeFile(join(directory, "verify.html"), await verifyPage());
    const browser = await sharedChromium();
    context = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: "light" });
    context.setDefaultTimeout(patience_ms);
    await context.setOffline(true);
    page = await context.newPage();
    wrongs = [];
    page.on("pageerror", (error) => void wrongs.push(error.message));
    page.on("console", (message) => void wrongs.push(message.text()));
    page.on("request", (request) => void (request.url().startsWith("file:") || wrongs.push(request.url())));
    await page.goto(pathToFileURL(join(directory, "verify.html")).href);
  }, test_timeout_ms);
  afterAll(async () => {
    await context.close();
    await rm(directory, { recursive: true, force: true });
  });

  const result = () => page.locator("#result");

  async function verify(receipt: string | Buffer, keys: readonly string[]): Promise<string> {
    await page.getByLabel("Receipt").setInputFiles({
      name: "receipt.json",
      mimeType: "application/json",
      buffer: Buffer.from(receipt),
    });
    await page.getByLabel("Verifier keys").fill(keys.join("\n"));
    expect(await result().textContent()).toBe("");
    await page.getByRole("button", { name: "Verify" }).click();
    await result().locator("h2, .problem").waitFor();
    return (await result().textContent()) ?? "";
  }

  test("says yes, what was recorded, what is proved and what is not", { timeout: test_timeout_ms }, async () => {
    const { receipt, keys, proved, not_proved } = vectors[1] as Vector;
    const text = await verify(receipt, keys);
    expect(text).toMatch(/^Yes: this receipt is genuine\./);
    for (const line of [...proved, ...not_proved]) expect(text).toContain(line);
    expect(text).toContain('the agent "zähler "7"" asked for "send_money" (payment.transfer)');
    expect(text).toContain("The service held it for review, by the rules of mem_01K");
    expect(text).toContain('a reviewer voted: outcome "approve", comment "checked by phone"');
    expect(wrongs).toEqual([]);
  });

  test("says no to each forgery, and names the check", { timeout: test_timeout_ms }, async () => {
    for (const { forgeries, keys, known } of vectors) {
      if (known !== undefined) continue;
      for (const { name, receipt, check } of forgeries) {
        const text = await verify(receipt, keys);
        expect(text, name).toMatch(/^No: this receipt is not genuine\./);
        expect(text, name).toContain(`The check that failed: ${check}.`);
      }
    }
    expect(wrongs).toEqual([]);
  });

  test("says no to a change of one byte, at 24 places of a receipt", { timeout: test_timeout_ms }, async () => {
    const { receipt, keys } = vectors[1] as Vector;
    const bytes = Buffer.from(receipt);
    for (let time = 0; time < 24; time += 1) {
      const forged = Buffer.from(bytes);
      const place = Math.floor((time * bytes.length) / 24) + time;
      forged[place] = (bytes[place] as number) ^ (1 << (time % 8));
      expect(await verify(forged, keys), `byte ${place}`).toMatch(/^No: /);
    }
  });

  test("compares with a checkpoint that the reader knows", { timeout: test_timeout_ms }, async () => {
    const { receipt, keys, known, proved } = vectors.find((vector) => vector.known !== undefined) as Vector;
    await page.getByText("Compare with a checkpoint").click();
    // Copied from a page, without the last line break.
    await page.getByLabel("Checkpoint, the whole text").fill((known?.checkpoint ?? "").trimEnd());
    await page.getByLabel("Consistency proof").fill(known?.proof.join("\n") ?? "");
    expect(await verify(receipt, keys)).toContain(proved.at(-1));
    await page.getByLabel("Consistency proof").fill("");
    expect(await verify(receipt, keys)).toContain("The check that failed: consistency.");
    await page.getByLabel("Checkpoint, the whole text").fill("");
    await page.getByText("Compare with a checkpoint").click();
  });

  test("says what is wrong with a key, and takes the verdict away when an input changes", {
    timeout: test_timeout_ms,
  }, async () => {
    const { receipt, keys } = vectors[0] as Vector;
    expect(await verify(receipt, ["key"])).toBe(
      'The receipt was not checked: "key" is not a verifier key: name+8 hex digits+Base64.',
    );
    expect(await verify(receipt, keys)).toMatch(/^Yes: /);
    await page.getByLabel("Verifier keys").fill("other");
    expect(await result().textContent()).toBe("");
  });

  test("takes a file that is dropped on it", { timeout: test_timeout_ms }, async () => {
    const { receipt, keys } = vectors[0] as Vector;
    await page.getByLabel("Receipt").setInputFiles([]);
    const dropped = await page.evaluateHandle(
      `(() => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([${JSON.stringify(receipt)}], "receipt.json"));
        return dropped;
      })()`,
    );
    await page.dispatchEvent("h1", "drop", { dataTransfer: dropped });
    await page.getByLabel("Verifier keys").fill(keys[0] as string);
    await page.getByRole("button", { name: "Verify" }).click();
    await result().getByRole("heading", { name: "Yes: this receipt is genuine." }).waitFor();
  });

  test("is accessible and fits a telephone, in light and dark", { timeout: test_timeout_ms }, async () => {
    const { receipt, keys } = vectors[1] as Vector;
    await verify(receipt, keys);
    for (const summary of await result().locator("summary").all()) await summary.click();
    expect([await violationsInBoth(page), await sidewaysOf(page)]).toEqual([[], []]);
    await verify(receipt.replace("phone", "fax"), keys);
    expect([await violationsInBoth(page), await sidewaysOf(page)]).toEqual([[], []]);
    expect(wrongs).toEqual([]);
  });

  test("says so in a browser without Ed25519, and checks nothing", { timeout: test_timeout_ms }, async () => {
    const old = await context.newPage();
    await old.addInitScript(
      "crypto.subtle.importKey = () => Promise.reject(new DOMException('', 'NotSupportedError'))",
    );
    await old.goto(pathToFileURL(join(directory, "verify.html")).href);
    await old.getByRole("alert").waitFor();
    expect(await old.getByRole("alert").textContent()).toMatch(/This browser cannot verify Ed25519 signatures/);
    expect(await old.getByRole("button", { name: "Verify" }).isVisible()).toBe(false);
    await old.close();
  });

  test("runs no script but its own, if somebody changes the page", { timeout: test_timeout_ms }, async () => {
    const changed = (await verifyPage()).replace("</main>", "</main><script>document.title = 'changed'</script>");
    await writeFile(join(directory, "changed.html"), changed);
    const other = await context.newPage();
    await other.goto(pathToFileURL(join(directory, "changed.html")).href);
    expect(await other.title()).toBe("Verify a receipt – Countersign");
    await other.close();
  });
});
