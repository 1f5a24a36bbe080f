/** Receipts, and forgeries of each, that the verifiers of all languages must tell apart. `npm run gen` writes the file. */
import { canonicalJson } from "@countersign/core";
import { entryForgeries, formForgeries, noteForgeries, reviewedForgeries } from "./forgeries.ts";
import {
  base64,
  blocked,
  checkpointOf,
  decision,
  type Forge,
  log,
  logOf,
  next_log,
  origin,
  type Receipt,
  type Recorded,
  receiptOf,
  reviewed,
  reviewedLog,
  reviewedReceipt,
  singleReceipt,
  stranger,
  withEntry,
  witness,
} from "./made-receipts.ts";
import { consistencyPath, rootOf } from "./naive-tree.ts";
import * as signedRulings from "./signed-rulings.ts";
import { type Signer, sha256 } from "./signing.ts";

interface Known {
  readonly checkpoint: string;
  readonly proof: readonly string[];
}

interface Forgery {
  readonly name: string;
  /** The whole text of the forged receipt. */
  readonly receipt: string;
  /** Instead of that of the vector. */
  readonly known?: Known;
  readonly check: string;
  readonly entry: number | null;
}

interface Vector {
  readonly name: string;
  readonly receipt: string;
  /** The keys that the verifier has. */
  readonly keys: readonly string[];
  readonly known?: Known;
  readonly proved: readonly string[];
  readonly not_proved: readonly string[];
  readonly forgeries: readonly Forgery[];
}

function vectorOf(
  name: string,
  receipt: Receipt,
  rest: Omit<Vector, "name" | "receipt" | "forgeries">,
  forged: readonly Forge[],
): Vector {
  const forgeries = forged.map(([of, forge, check, entry = null]): Forgery => {
    const changed = forge(receipt);
    return { name: of, receipt: typeof changed === "string" ? changed : canonicalJson(changed), check, entry };
  });
  return { name, receipt: canonicalJson(receipt), ...rest, forgeries };
}

const signed = (key: Signer, size: number): string =>
  `The key ${key.verifier_key.split("+", 2).join("+")} signed that the log ${origin} has ${size} entries with this root.`;
const held = (indexes: string): string => `The log holds every entry of this receipt, unchanged: ${indexes}.`;
const recorded = "Each document of this receipt is the one that the service recorded with its entry.";
const not_facts =
  "That the facts were true, and that names and times are right: they are as the service recorded them.";
const not_all = "That nothing else happened to this action: the log may hold more entries about it.";
const not_compared =
  "That the log shows everybody the same entries: compare it with a checkpoint that you noted at another time.";

/** Compares with a checkpoint of `size` entries. The forgery has a checkpoint whose last entry is another. */
function comparedVector(name: string, size: number): Vector {
  const longer = logOf(Math.max(size, 300), reviewed);
  const known = longer.slice(0, size);
  const [shorter, whole] = size <= 300 ? [known, reviewedLog] : [reviewedLog, longer];
  const proof = base64(consistencyPath(shorter.length, whole));
  const receipt = canonicalJson(receiptOf(reviewedLog, { 5: reviewed[5] as Recorded }, [log]));
  const refused = (of: string, given: Known): Forgery => ({
    name: of,
    receipt,
    known: given,
    check: "consistency",
    entry: null,
  });
  const checkpoint = checkpointOf(known, [log]);
  const rewritten = checkpointOf(known, [log], origin, rootOf([...known.slice(0, -1), "{}"]));
  return {
    name,
    receipt,
    keys: [log.verifier_key],
    known: { checkpoint, proof },
    proved: [
      signed(log, 300),
      held("5"),
      recorded,
      `The checkpoint that you know (${size} entries) and this one (300 entries) are of one log.`,
    ],
    not_proved: [not_facts, not_all],
    forgeries: [
      refused("a log with another entry", { checkpoint: rewritten, proof }),
      refused("a proof that is too long", {
        checkpoint,
        proof: [...proof, proof.at(-1) ?? base64([sha256("x")])[0] ?? ""],
      }),
      ...(proof.length === 0 ? [] : [refused("a proof that is too short", { checkpoint, proof: proof.slice(1) })]),
      ...(proof.length === 0 ? [] : [refused("no hashes", { checkpoint, proof: proof.map(() => "hash") })]),
    ],
  };
}

function receiptVectors(): Vector[] {
  const erasedEntry = { ...blocked, documents: { data: null, facts: null, intent: null } };
  const erased = receiptOf(logOf(3, { 1: blocked }), { 1: erasedEntry }, [log]);
  return [
    vectorOf(
      "a decision in a log of one entry",
      singleReceipt,
      {
        keys: [log.verifier_key],
        proved: [signed(log, 1), held("0"), recorded],
        not_proved: [not_facts, not_all, not_compared],
      },
      [...formForgeries(), ...noteForgeries(), ...entryForgeries()],
    ),
    vectorOf(
      "a review with its outcome, two keys of the log and two witnesses",
      reviewedReceipt,
      {
        keys: [stranger.verifier_key, next_log.verifier_key, witness.verifier_key],
        proved: [
          signed(next_log, 300),
          "The witness witness.example/w1 saw this log at 2026-11-28T12:13:20Z and found that it had only grown.",
          held("5, 6, 90, 255, 256"),
          recorded,
        ],
        not_proved: [
          not_facts,
          not_all,
          not_compared,
          "That the witness witness.example/w2 saw this log: you gave no key of this witness.",
          "That the action had the reported outcome: the agent reported it.",
        ],
      },
      reviewedForgeries(),
    ),
    vectorOf(
      "an erased decision",
      erased,
      {
        keys: [log.verifier_key],
        proved: [signed(log, 3), held("1"), recorded],
        not_proved: [
          not_facts,
          not_all,
          not_compared,
          "What these documents said, which were erased or withheld: data of entry 1, facts of entry 1, intent of entry 1.",
        ],
      },
      [
        [
          "another decision's leaf",
          (receipt) => withEntry(receipt, 0, { leaf: decision("approve").leaf }),
          "inclusion",
          1,
        ],
      ],
    ),
    comparedVector("compared with an earlier checkpoint", 37),
    comparedVector("compared with an earlier checkpoint of a full subtree", 256),
    comparedVector("compared with a checkpoint of the same size", 300),
    comparedVector("compared with a later checkpoint", 411),
    vectorOf(
      "a review that three people signed with passkeys of three algorithms",
      signedRulings.signed,
      {
        keys: [log.verifier_key],
        proved: [signed(log, 40), held("3, 4, 7, 9, 11, 12, 13, 14"), recorded, ...signedRulings.signed_proved],
        not_proved: [not_facts, not_all, not_compared, ...signedRulings.signed_not_proved],
      },
      [
        ...signedRulings.rulingForgeries(),
        ...signedRulings.assertionForgeries(),
        ...signedRulings.registrationForgeries(),
      ],
    ),
    vectorOf(
      "signed changes, a passkey without a registration, and a code",
      signedRulings.mixed,
      {
        keys: [log.verifier_key],
        proved: [signed(log, 40), held("3, 4, 9, 11, 12, 13, 14"), recorded, ...signedRulings.mixed_proved],
        not_proved: [not_facts, not_all, not_compared, ...signedRulings.mixed_not_proved],
      },
      signedRulings.changeForgeries(),
    ),
  ];
}

export function receiptVectorsText(): string {
  return `${JSON.stringify(receiptVectors(), null, 2)}\n`;
}
