import { readFileSync } from "node:fs";
import { type EventTypeRow, eventTypes, factCategories } from "@countersign/contract";
import { expect, it } from "vitest";
import { mergeFacts } from "../packages/core/src/facts/merge.ts";
import { freshUntilUs, resolveLimits } from "../packages/core/src/facts/staleness.ts";
import { generatedFiles, staleFiles } from "./gen.ts";

it("the generated files agree with the contract's tables (npm run gen writes them)", () => {
  expect(staleFiles()).toEqual([]);
});

it("docs/reference/facts.md says for every fact how long the core treats it as fresh", () => {
  const seconds_by_unit: Record<string, number> = { minute: 60, hour: 3_600, day: 86_400 };
  const secondsOf = (text: string) => {
    const [, count, unit = ""] = /[Ff]resh for (\d+) (minute|hour|day)/.exec(text) ?? [];
    return Number(count) * (seconds_by_unit[unit] ?? Number.NaN);
  };
  const page = readFileSync(new URL("../docs/reference/facts.md", import.meta.url), "utf8");
  // At ten past, so that the next hour begins after 50 minutes.
  const received_us = Date.UTC(2026, 0, 1, 10, 10) * 1_000;
  const said: Record<string, number> = {};
  const taken: Record<string, number> = {};
  for (const { name, fields } of Object.values(factCategories)) {
    const section = page.split(`\n## ${name}\n`)[1]?.split("\n## ")[0] ?? "";
    for (const { name: field } of fields) {
      const row = section.split("\n").find((line) => line.startsWith(`| \`${field}\` |`)) ?? "";
      const own = row.includes("until the clock strikes") ? 50 * 60 : secondsOf(row);
      said[`${name}.${field}`] = Number.isNaN(own) ? secondsOf(section) : own;
      const document = { facts: { [name]: { [field]: 1 } } };
      const merged = mergeFacts([{ source: "inline", received_us, document }]);
      const until_us = freshUntilUs(merged, resolveLimits([]), name, field, received_us) ?? 0;
      taken[`${name}.${field}`] = (until_us - received_us) / 1_000_000;
    }
  }
  expect(said).toEqual(taken);
});

it("docs/reference/events.md has the fields of every event with fields of its own", () => {
  const page = generatedFiles().get("docs/reference/events.md") ?? "";
  for (const [name, { data }] of Object.entries(eventTypes) as [string, EventTypeRow][]) {
    if (typeof data === "string") continue;
    const section = page.split(/\n(?=## )/).find((each) => /^## Data of .*/.exec(each)?.[0].includes(name)) ?? "";
    for (const field of data) expect(section, name).toContain(`| \`${field.name}\` | ${field.type} |`);
  }
});
