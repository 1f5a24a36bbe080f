import { expect, test } from "vitest";
import { windowText } from "./window-text.ts";

test.each([
  ["24h", "24 hours"],
  ["1h30m", "1 hour 30 minutes"],
  ["30d", "30 days"],
  [{ calendar: "month", zone: "Europe/Berlin" }, "this month in Europe/Berlin"],
  [{ calendar: "day" }, "today in UTC"],
] as const)("writes the window %j as %s", (window, text) => {
  expect(windowText(window)).toBe(text);
});
