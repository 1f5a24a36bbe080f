import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { canonicalJson } from "../values/canonical-json.ts";
import {
  type ChangeHeader,
  changeLeaf,
  commitmentTo,
  type DecisionHeader,
  decisionLeaf,
  leafHash,
  type OfDocuments,
} from "./ledger-entry.ts";

interface Example {
  readonly kind: "decision" | "change";
  readonly header: DecisionHeader & ChangeHeader;
  readonly documents: OfDocuments;
  readonly salts: OfDocuments;
  readonly commitments: OfDocuments;
  readonly leaf: string;
  readonly hash: string;
}

const page = readFileSync(new URL("../../../../docs/decisions/0030-the-ledger.md", import.meta.url), "utf8");
const examples = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? "[]") as readonly Example[];

test("there is an example of each kind", () => {
  expect(examples.map(({ kind }) => kind)).toEqual(["decision", "change"]);
});

test.each(examples)("a $kind has the commitments, leaf and hash of its example", (example) => {
  const { kind, header, documents, salts, commitments, leaf, hash } = example;
  for (const name of Object.keys(documents) as (keyof OfDocuments)[])
    expect(commitmentTo(salts[name], documents[name])).toBe(commitments[name]);
  const made = kind === "decision" ? decisionLeaf(header, commitments) : changeLeaf(header, commitments.data);
  expect(made).toBe(leaf);
  expect(canonicalJson(JSON.parse(leaf))).toBe(leaf);
  expect(leafHash(leaf)).toBe(hash);
});
