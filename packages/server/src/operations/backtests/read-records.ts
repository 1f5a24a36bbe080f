import {
  amountAtStake,
  factsOf,
  type MergedFacts,
  type RecordedCounts,
  type RecordedIntent,
  type StandingFreeze,
} from "@countersign/core";
import { type RecordedRow, readLifts, readOverridden } from "../../store/backtests/backtests.ts";
import type { ReplayNeeds } from "./replay-needs.ts";

export interface ReadRecord<Row extends RecordedRow = RecordedRow> {
  readonly row: Row;
  readonly end: DecisionEnd | null;
  readonly lifts: readonly string[] | null | "unknown";
  readonly overridden: boolean;
}

interface DecisionEnd {
  readonly override_id: string | null;
  readonly policy_epoch: number;
  readonly sha256: string;
}

const endOfDecision =
  /^(?:null|"([a-z0-9A-Z_]+)"),"escalation_id"[^{]*"policy_set":\{"version":(\d+),"sha256":"([0-9a-f]{64})"\}(?:,"claim":"required")?,"timestamp":"[^"]+"\}$/;

/** Parses the text from `"human_override_id":` on; null: another format than this version writes. */
function decisionEnd(text: string): DecisionEnd | null {
  const found = endOfDecision.exec(text);
  if (found === null) return null;
  return { override_id: found[1] ?? null, policy_epoch: Number(found[2]), sha256: found[3] as string };
}

/** Adds the overrides of a page's intents. */
export async function recordsOf<Row extends RecordedRow>(
  needs: ReplayNeeds,
  org_id: string,
  page: readonly Row[],
): Promise<ReadRecord<Row>[]> {
  const ends = page.map((row) => decisionEnd(row.decision_end));
  const spent = ends.flatMap((end) => (end === null || end.override_id === null ? [] : [end.override_id]));
  const blocked = page.filter((row) => row.verdict === "block");
  const ids = page.map(({ intent_id }) => intent_id).sort();
  const { lifts, overridden } =
    spent.length === 0 && blocked.length === 0
      ? { lifts: new Map<string, readonly string[]>(), overridden: new Set<string>() }
      : await needs.read(async (query) => ({
          lifts: spent.length === 0 ? new Map<string, readonly string[]>() : await readLifts(query, org_id, spent),
          overridden: await readOverridden(query, org_id, ids[0] as string, ids.at(-1) as string),
        }));
  return page.map((row, index) => {
    const end = ends[index] ?? null;
    const override_id = end?.override_id ?? null;
    return {
      row,
      end,
      // Approvals of equal actions and grants are no overrides, so such decisions cannot be reproduced.
      lifts: /"(?:resumed_from|grant_id)":"/.test(row.decision_end) ? "unknown" : liftsOf(override_id, lifts),
      overridden: overridden.has(row.intent_id),
    };
  });
}

function liftsOf(override_id: string | null, lifts: ReadonlyMap<string, readonly string[]>): ReadRecord["lifts"] {
  return override_id === null ? null : (lifts.get(override_id) ?? "unknown");
}

/** The recorded inputs of a decision. */
export interface ReadInputs {
  /** Without what earlier actions add up to. */
  readonly recorded: RecordedIntent;
  /** Sums of earlier actions that the decision read. */
  readonly counts: RecordedCounts | undefined;
  /** The action joined a review or took over an approval, so an earlier action counts in its place. */
  readonly rests: boolean;
  /** The amount at stake, without amounts that were hidden from people. Undefined: no figure. */
  readonly amount_usd: () => number | undefined;
}

interface IntentDocument {
  readonly submitted?: RecordedIntent["intent"];
  readonly attested?: boolean;
  readonly counts?: RecordedCounts;
  readonly rests?: string;
  readonly withheld?: readonly string[];
  readonly masked?: readonly string[];
}

/** Null: another format than this version writes. */
export function recordedOf(row: RecordedRow, lifts: readonly string[] | null): ReadInputs | null {
  let document: IntentDocument;
  let facts: MergedFacts | null;
  try {
    document = JSON.parse(row.intent) as IntentDocument;
    facts = factsOf(JSON.parse(row.facts));
  } catch {
    return null;
  }
  const { submitted, attested, counts, rests } = document;
  if (submitted?.agent === undefined || submitted.action === undefined || attested === undefined || facts === null)
    return null;
  const { mode, at_us: now_us, frozen } = row;
  const freezes = frozen === null ? [] : [recordedFreeze(frozen)];
  const recorded = { intent: submitted, attested, facts, mode, now_us, lifts, freezes };
  const { withheld = [], masked = [] } = document;
  const amount_usd = () => {
    const shown = withheld.length + masked.length === 0 ? (submitted.payload?.content ?? null) : null;
    const stated = submitted.estimated_impact?.["financial_exposure_usd"];
    return amountAtStake(typeof stated === "number" ? stated : undefined, shown).amount_usd;
  };
  return { recorded, counts, rests: rests !== undefined, amount_usd };
}

function recordedFreeze(frozen: NonNullable<RecordedRow["frozen"]>): StandingFreeze {
  const [kind, mode] = frozen.split(" ") as [StandingFreeze["kind"], StandingFreeze["mode"]];
  return { kind, mode, subject: "", name: "", reason: "as recorded", frozen_by: "", frozen_at: "", lineages: [] };
}
