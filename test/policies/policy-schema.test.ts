import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import { packNames, packOf } from "../../packages/core/src/testing/packs.ts";

const root = join(import.meta.dirname, "../..");
const schema = JSON.parse(readFileSync(join(root, "docs/reference/policy.schema.json"), "utf8"));
const validate = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true }).compile(schema);
const accepts = (document: unknown): boolean => validate(document);
const documents = packNames.flatMap((name) => packOf(name).rules);

test("docs/reference/policy.schema.json accepts every policy of every pack", () => {
  expect(documents.length).toBeGreaterThan(115);
  const refused = documents.filter((document) => !accepts(document)).map(({ metadata }) => metadata.name);
  expect(refused).toEqual([]);
});

test.each([
  ["a field that does not exist", { spec: { when: "true", efect: "block" } }],
  ["another kind", { kind: "Pack" }],
  ["an effect that does not exist", { spec: { when: "true", effect: "deny" } }],
  ["a name in capitals", { metadata: { name: "Not A Name" } }],
])("it refuses %s", (_, wrong) => {
  const right = {
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name: "p" },
    spec: { when: "true", effect: "block" },
  };
  expect(accepts(right)).toBe(true);
  expect(accepts({ ...right, ...wrong })).toBe(false);
});
