/** Counts what the records of an archive say, for its summary. */
import type { OrgAuditRecord } from "@countersign/contract";
import type { ExportedDecision } from "@countersign/core";

/** A record that the summary lists. */
export interface Told {
  readonly at: string;
  readonly type: string;
  readonly by: string;
  readonly about: string;
}

/** Longer lists would be no summary. The records have the rest. */
export const told_max = 200;

export interface Summary {
  readonly decisions: number;
  readonly audit_records: number;
  /** By mode and verdict. */
  readonly verdicts: ReadonlyMap<string, number>;
  /** Of held live actions, by their present outcome. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** Votes by voter. */
  readonly voters: ReadonlyMap<string, number>;
  readonly overrides: readonly Told[];
  readonly freezes: readonly Told[];
  readonly erasures: readonly Told[];
  readonly changes: ReadonlyMap<string, number>;
}

export interface SummaryTaker {
  decision(decision: ExportedDecision): void;
  /** Of the period. */
  record(record: OrgAuditRecord): void;
  taken(): Summary;
}

const lists = {
  overrides: ["overridden", "override_revoked", "override_spent"],
  freezes: ["frozen", "unfreeze_requested", "unfrozen"],
  erasures: ["erasure_requested", "legal_hold_placed", "legal_hold_released", "retention_changed"],
} as const;

export function startSummary(): SummaryTaker {
  const verdicts = new Map<string, number>();
  const outcomes = new Map<string, number>();
  const voters = new Map<string, number>();
  const changes = new Map<string, number>();
  const told = { overrides: [] as Told[], freezes: [] as Told[], erasures: [] as Told[] };
  let [decisions, audit_records] = [0, 0];
  const count = (counts: Map<string, number>, name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    decision({ intent, decision }) {
      decisions += 1;
      count(verdicts, `${intent.pipeline_mode} ${decision.verdict}`);
      if (intent.pipeline_mode === "live" && decision.verdict === "escalate")
        count(outcomes, decision.outcome ?? "waits for people");
    },
    record(record) {
      audit_records += 1;
      const { type, actor, intent_id } = record;
      if (type === "voted") count(voters, actor.id ?? "the service");
      if (intent_id === null) count(changes, type);
      for (const name of ["overrides", "freezes", "erasures"] as const)
        if ((lists[name] as readonly string[]).includes(type) && told[name].length < told_max)
          told[name].push({ at: record.at, type, by: actor.id ?? "the service", about: aboutOf(record) });
    },
    taken: () => ({ decisions, audit_records, verdicts, outcomes, voters, changes, ...told }),
  };
}

function aboutOf({ intent_id, data }: OrgAuditRecord): string {
  const { kind, name, subject, reason } = data as Readonly<Record<string, unknown>>;
  const parts = [intent_id, kind, name ?? subject, reason].filter((part) => typeof part === "string" && part !== "");
  return parts.join(", ");
}
