/** Forgeries of made receipts, each with the check that must find it. */
import { canonicalJson, commitmentTo } from "@countersign/core";
import {
  base64,
  blocked,
  change,
  checkpointOf,
  decision,
  documentOf,
  type Entry,
  type Forge,
  log,
  logOf,
  type Receipt,
  receiptOf,
  reviewed,
  reviewedReceipt,
  reviewedSigners,
  single,
  singleReceipt,
  stranger,
  withEntry,
  witness,
} from "./made-receipts.ts";
import { logSigner, sha256 } from "./signing.ts";

const { checkpoint, keys } = singleReceipt;
const [body] = checkpoint.split("\n\n") as [string];
const leaves = logOf(1, single);
const elsewhere = "countersign.example/org_01KBBBBBBBBBBBBBBBBBBBBBBB";
const abroad = logSigner(elsewhere, "log");
const double = single[0]?.documents["data"]?.text.replace('"outcome"', '"verdict":"block","outcome"') as string;
const forgedData = { salt: "00".repeat(16), text: double };
const repeated = { ...blocked, documents: { ...blocked.documents, data: forgedData } };
const leaf = JSON.parse(blocked.leaf) as Record<string, unknown>;
const relogged = (members: object, documents = blocked.documents): Receipt => {
  const again = { 0: { leaf: canonicalJson({ ...leaf, ...members }), documents } };
  return receiptOf(logOf(1, again), again, [log]);
};

export function formForgeries(): Forge[] {
  return [
    ["an empty file", () => "", "form"],
    ["a list", () => "[]", "form"],
    ["a line break at the end", (receipt) => `${canonicalJson(receipt)}\n`, "form"],
    ["formatted for people", (receipt) => JSON.stringify(JSON.parse(canonicalJson(receipt)), null, 2), "form"],
    ["members in another order", (receipt) => JSON.stringify(receipt), "form"],
    ["a byte order mark", (receipt) => `\ufeff${canonicalJson(receipt)}`, "form"],
    ["a repeated member", (receipt) => canonicalJson(receipt).replace('"format"', '"format":"x","format"'), "form"],
    ["an unknown member", (receipt) => ({ ...receipt, note: "trust me" }), "form"],
    ["a missing member", ({ keys: _, ...receipt }) => receipt as Receipt, "form"],
    ["another format", (receipt) => ({ ...receipt, format: "countersign.receipt.v2" }), "format"],
    ["no entries", (receipt) => ({ ...receipt, entries: [] }), "form"],
    ["no keys", (receipt) => ({ ...receipt, keys: [] }), "form"],
    ["a fractional index", (receipt) => withEntry(receipt, 0, { index: 0.5 }), "form"],
    ["a negative index", (receipt) => withEntry(receipt, 0, { index: -1 }), "form"],
    ["an index as text", (receipt) => withEntry(receipt, 0, { index: "0" }), "form"],
    ["an index of minus zero", (receipt) => canonicalJson(receipt).replace('"index":0', '"index":-0'), "form"],
    ["an index with an exponent", (receipt) => canonicalJson(receipt).replace('"index":0', '"index":0e0'), "form"],
    ["an index that is too large", (receipt) => withEntry(receipt, 0, { index: 2 ** 53 }), "form"],
    ["an index that is true", (receipt) => withEntry(receipt, 0, { index: true }), "form"],
    ["an escape where none is needed", (receipt) => canonicalJson(receipt).replace("ä", "\\u00e4"), "form"],
    ["a lone surrogate", (receipt) => canonicalJson(receipt).replace("ä", "\\ud800"), "form", 0],
    ["an unknown member of an entry", (receipt) => withEntry(receipt, 0, { seen: true }), "form"],
    ["another organization", (receipt) => ({ ...receipt, org_id: "org_01KBBBBBBBBBBBBBBBBBBBBBBB" }), "origin"],
    ["another intent", (receipt) => ({ ...receipt, intent_id: "int_01KBBBBBBBBBBBBBBBBBBBBBBB" }), "intent", 0],
  ];
}

export function noteForgeries(): Forge[] {
  return [
    ["no checkpoint", (receipt) => ({ ...receipt, checkpoint: "" }), "checkpoint"],
    ["a checkpoint without a signature", (receipt) => ({ ...receipt, checkpoint: `${body}\n\n` }), "checkpoint"],
    [
      "a checkpoint with a fourth line",
      (receipt) => ({ ...receipt, checkpoint: checkpoint.replace("\n\n", "\nmore\n\n") }),
      "checkpoint",
    ],
    [
      "a size with a leading zero",
      (receipt) => ({ ...receipt, checkpoint: checkpoint.replace("\n1\n", "\n01\n") }),
      "checkpoint",
    ],
    [
      "line ends of Windows",
      (receipt) => ({ ...receipt, checkpoint: checkpoint.replaceAll("\n", "\r\n") }),
      "checkpoint",
    ],
    ["a larger tree", (receipt) => ({ ...receipt, checkpoint: checkpoint.replace("\n1\n", "\n2\n") }), "signature"],
    [
      "a checkpoint of a stranger's key",
      (receipt) => ({ ...receipt, checkpoint: checkpointOf(leaves, [stranger]) }),
      "keys",
    ],
    ["a stranger's key, named in the receipt", () => receiptOf(leaves, single, [stranger]), "trusted_key"],
    [
      "a checkpoint of another organization's log",
      (receipt) => ({ ...receipt, checkpoint: checkpointOf(leaves, [abroad], elsewhere), keys: [abroad.verifier_key] }),
      "origin",
    ],
    ["a key too many", (receipt) => ({ ...receipt, keys: [...keys, stranger.verifier_key] }), "keys"],
    ["a repeated key and signature", () => receiptOf(leaves, single, [log, log]), "keys"],
    ["a witness instead of the log", () => receiptOf(leaves, single, [witness]), "trusted_key"],
    ["a proof that is too long", (receipt) => withEntry(receipt, 0, { proof: base64([sha256("x")]) }), "inclusion", 0],
    [
      "a proof that is not canonical",
      (receipt) => withEntry(receipt, 0, { proof: [`${"A".repeat(42)}B=`] }),
      "form",
      0,
    ],
    ["an index outside the log", (receipt) => withEntry(receipt, 0, { index: 1 }), "position", 1],
  ];
}

export function entryForgeries(): Forge[] {
  return [
    [
      "a leaf that the log does not hold",
      (receipt) => ({ ...relogged({ verdict: "approve" }), checkpoint: receipt.checkpoint, keys }),
      "decision",
      0,
    ],
    [
      "another agent",
      (receipt) => ({ ...relogged({ agent_id: "x" }), checkpoint: receipt.checkpoint, keys }),
      "inclusion",
      0,
    ],
    ["a leaf of an unknown version", () => relogged({ v: 2 }), "leaf", 0],
    ["a leaf with an unknown member", () => relogged({ more: 1 }), "leaf", 0],
    ["a leaf that is not canonical", (receipt) => withEntry(receipt, 0, { leaf: ` ${blocked.leaf}` }), "leaf", 0],
    ["an answer of another decision", () => relogged({ decision_id: "dec_01KBBBBBBBBBBBBBBBBBBBBBBB" }), "decision", 0],
    [
      "another salt",
      (receipt) =>
        withEntry(receipt, 0, {
          documents: { ...blocked.documents, data: { ...blocked.documents["data"], salt: "00".repeat(16) } },
        }),
      "document",
      0,
    ],
    [
      "a salt in upper case",
      (receipt) =>
        withEntry(receipt, 0, {
          documents: { ...blocked.documents, data: { ...blocked.documents["data"], salt: "AB".repeat(16) } },
        }),
      "form",
      0,
    ],
    [
      "a salt in a list",
      (receipt) =>
        withEntry(receipt, 0, {
          documents: {
            ...blocked.documents,
            data: { ...blocked.documents["data"], salt: [blocked.documents["data"]?.salt] },
          },
        }),
      "form",
      0,
    ],
    [
      "a document left out",
      (receipt) => withEntry(receipt, 0, { documents: { data: blocked.documents["data"] } }),
      "form",
      0,
    ],
    [
      "a document too many",
      (receipt) => withEntry(receipt, 0, { documents: { ...blocked.documents, more: null } }),
      "form",
      0,
    ],
    [
      "an erased salt alone",
      (receipt) => withEntry(receipt, 0, { documents: { ...blocked.documents, data: { salt: null, text: "{}" } } }),
      "form",
      0,
    ],
    [
      "a document with a repeated name",
      () => relogged({ data: commitmentTo(forgedData.salt, forgedData.text) }, repeated.documents),
      "document",
      0,
    ],
    [
      "a document of nested lists",
      () => {
        const deep = { salt: "00".repeat(16), text: `{"a":${"[".repeat(200)}${"]".repeat(200)}}` };
        return relogged({ facts: commitmentTo(deep.salt, deep.text) }, { ...blocked.documents, facts: deep });
      },
      "document",
      0,
    ],
  ];
}

export function reviewedForgeries(): Forge[] {
  const { checkpoint, entries } = reviewedReceipt;
  const lines = checkpoint.split("\n");
  const swapped = [...lines.slice(0, 4), lines[5], lines[4], ...lines.slice(6)].join("\n");
  const [first, second, third] = entries as [Entry, Entry, Entry];
  const foreign = { ...reviewed, 6: change("voted", "usr_x", {}, "int_01KBBBBBBBBBBBBBBBBBBBBBBB") };
  const twice = { ...reviewed, 6: decision("escalate") };
  return [
    ["signatures in another order", (receipt) => ({ ...receipt, checkpoint: swapped }), "keys"],
    ["a signature left out", (receipt) => ({ ...receipt, checkpoint: [...lines.slice(0, -2), ""].join("\n") }), "keys"],
    [
      "another time of the witness",
      (receipt) => {
        const [name, encoded] = witness.line("").slice(2, -1).split(" ") as [string, string];
        const id = Buffer.from(encoded, "base64").subarray(0, 4);
        const bytes = Buffer.from((lines[6] as string).split(" ")[2] as string, "base64");
        bytes[11] = (bytes[11] as number) ^ 1;
        const line = `— ${name} ${Buffer.concat([id, bytes.subarray(4)]).toString("base64")}`;
        return { ...receipt, checkpoint: [...lines.slice(0, 6), line, ...lines.slice(7)].join("\n") };
      },
      "signature",
    ],
    ["entries in another order", (receipt) => ({ ...receipt, entries: [first, third, second] }), "position", 6],
    ["an entry twice", (receipt) => ({ ...receipt, entries: [first, second, second] }), "position", 6],
    ["no decision", (receipt) => ({ ...receipt, entries: [second, third] }), "decision", 6],
    ["two decisions", () => receiptOf(logOf(300, twice), twice, reviewedSigners), "decision", 6],
    ["a vote on another intent", () => receiptOf(logOf(300, foreign), foreign, reviewedSigners), "intent", 6],
    ["the place of another entry", (receipt) => withEntry(receipt, 1, { index: 7 }), "inclusion", 7],
    ["the proof of another entry", (receipt) => withEntry(receipt, 1, { proof: third.proof }), "inclusion", 6],
    [
      "a vote of another outcome",
      (receipt) =>
        withEntry(receipt, 1, {
          documents: { data: documentOf("voted", { outcome: "block", comment: "checked by phone" }) },
        }),
      "document",
      6,
    ],
    [
      "a shorter proof",
      (receipt) => withEntry(receipt, 4, { proof: (entries[4] as Entry).proof.slice(0, -1) }),
      "inclusion",
      256,
    ],
  ];
}
