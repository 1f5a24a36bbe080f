import { expect, test } from "vitest";
import { testNameServer } from "../../testing/network/name-server.ts";
import { createTxtRecords } from "./txt-records.ts";

test("a record of several strings is one text", async () => {
  const texts = ["countersign-organization=org_1", "x".repeat(300)];
  const { server } = await testNameServer((name) => (name === "_countersign.company.example" ? texts : "unknown"));
  expect(await createTxtRecords([server]).read("_countersign.company.example")).toEqual(texts);
});

test.each([
  ["no such name", "unknown", []],
  ["a name without records", [], []],
  ["name servers that fail", "failed", null],
  ["name servers that refuse", "refused", null],
] as const)("%s: %s", async (_, answer, texts) => {
  const { server } = await testNameServer(() => answer);
  expect(await createTxtRecords([server]).read("_countersign.company.example")).toEqual(texts);
});
