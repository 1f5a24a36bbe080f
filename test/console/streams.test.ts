import { beforeAll, expect, test } from "vitest";
import { s3Settings, s3Store } from "../../packages/server/src/testing/network/s3-store.ts";
import { in_dialog, violations } from "./accessibility.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type Seeded, seedLive } from "./seed.ts";

const console_ = await consoleUnderTest();

inBrowser("streams", () => {
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seedLive(console_.url);
  }, test_timeout_ms);

  test("an admin adds a stream, sees that the store takes a test object, and removes the stream", {
    timeout: test_timeout_ms,
  }, async () => {
    const store = await s3Store({ tls: true });
    const { page, wrongs } = await console_.open({ api_key: seeded.admin });
    await page.goto("/streams");
    await page.getByRole("button", { name: "Add a stream" }).click();
    const dialog = page.getByRole("dialog");
    expect(await violations(page, in_dialog)).toEqual([]);
    await dialog.getByLabel("Name").fill("siem");
    await dialog.getByLabel("Format").selectOption("ocsf");
    await dialog.getByLabel("Address").fill(`${store.endpoint}/path`);
    await dialog.getByLabel("Region").fill(s3Settings.region);
    await dialog.getByLabel("Bucket").fill(s3Settings.bucket);
    await dialog.getByLabel("Access key id").fill(s3Settings.access_key_id);
    await dialog.getByLabel("Secret access key").fill(s3Settings.secret_access_key);
    await dialog.getByRole("button", { name: "Add" }).click();
    await dialog.getByText("must have no path").waitFor();
    await dialog.getByLabel("Address").fill(store.endpoint);
    await dialog.getByRole("button", { name: "Add" }).click();
    await page.getByText("The store took the test object").waitFor();
    const row = page.getByRole("row", { name: /siem/ });
    await row.getByText("OCSF", { exact: false }).waitFor();
    expect(await violations(page)).toEqual([]);

    store.fault = () => ({ status: 403, code: "AccessDenied" });
    await row.getByRole("button", { name: "Write a test" }).click();
    await page.getByText("The store answered 403 AccessDenied.").waitFor();
    await row.getByText("More", { exact: true }).click();
    await page.getByRole("button", { name: "Switch off" }).click();
    await row.getByText("off", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByText("No streams").waitFor();
    expect(wrongs.filter((wrong) => !wrong.includes("400"))).toEqual([]);
  });
});
