import { beforeAll, expect, test } from "vitest";
import { cutOffIn, showWhole, sidewaysOf, violationsInBoth } from "./accessibility.ts";
import { follow } from "./chromium.ts";
import { consoleUnderTest, inBrowser, test_timeout_ms } from "./console-under-test.ts";
import { type EveryPage, forgottenRoutes, seedEveryPage } from "./every-page.ts";

const console_ = await consoleUnderTest();

const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;

inBrowser("every page of the router", () => {
  let every: EveryPage;
  beforeAll(async () => {
    every = await seedEveryPage(console_.url, "https://hooks.acme.example/countersign", (admin) =>
      console_.join(admin, "ann@example.com", "admin"),
    );
  }, test_timeout_ms);

  test("has no violation that axe can find, light and dark, at 1440 and 390 px, and is not wider than the screen", {
    timeout: test_timeout_ms * 2,
  }, async () => {
    const broken: string[] = [];
    const addresses = Object.values(every.by_route).flat();
    for (const [as, look] of Object.entries(every.callers)) {
      const { page, wrongs } = await console_.open(look);
      await page.goto("/not-loaded-yet");
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await forgottenRoutes(page, every)).toEqual([]);
      for (const { name, path } of addresses.filter((each) => each.as === as)) {
        await page.setViewportSize(sizes[0]);
        await follow(page, path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        for (const size of sizes) {
          await showWhole(page, size);
          const found = [...(await sidewaysOf(page)), ...(await cutOffIn(page)), ...(await violationsInBoth(page))];
          for (const each of found) broken.push(`${name} at ${size.width} px: ${each}`);
        }
      }
      expect(wrongs).toEqual([]);
    }
    expect(broken).toEqual([]);
  });
});
