import type { AuditType, Membrane, Rollout } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { readMembrane } from "../../store/membranes/membranes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { deleteRollout, type RolloutRow, readRollout, writeRollout } from "../../store/rollouts/rollouts.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { shownRollout } from "./shown-rollout.ts";

export type RolloutDeps = Pick<Runtime, "db" | "ids" | "callers">;

export interface Found {
  readonly query: Query;
  readonly membrane: Membrane;
  readonly before: RolloutRow | undefined;
  /** By the database's clock. */
  readonly at: string;
  readonly person: string;
}

export interface Changed {
  /** Null: deletes it. */
  readonly row: RolloutRow | null;
  readonly type: AuditType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Changes a rollout in one transaction, under the lock of the head. Null: it was deleted. Faults: not_found, those of `change`. */
export function changeRollout(
  runtime: RolloutDeps,
  caller: Caller,
  membrane_id: string,
  change: (found: Found) => Changed | Promise<Changed>,
): Promise<Rollout | null> {
  const { org_id, actor } = caller;
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(org_id, async (query) => {
      const head = await lockHead(query, org_id);
      demandCurrentKey(head, current);
      await refuseEnded(query, current);
      const membrane = await readMembrane(query, org_id, membrane_id);
      if (membrane === undefined) throw new Fault("not_found");
      const before = await readRollout(query, org_id, membrane_id);
      const { person } = await identityOf(query, org_id, caller.lineage_id);
      const at = await databaseNow(query);
      const { row, type, data } = await change({ query, membrane, before, at, person });
      if (row === null) await deleteRollout(query, org_id, membrane_id);
      else await writeRollout(query, org_id, row);
      const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type, data: { membrane_id, ...data } })];
      // Decisions in flight assumed the old share.
      await changeHead(query, head, { raise: ["policy"], audit });
      return row === null ? null : shownRollout(query, org_id, membrane, row);
    }),
  );
}

export function demandRollout({ before }: Found): RolloutRow {
  if (before === undefined) throw faultAt("not_found", "", "not_found", "This membrane has no rollout.");
  return before;
}

/** The members of a row that begins a stage. */
export const beginsStage = { counted_from: null, counted_before: null, counts: null, requested_return: null } as const;

/** The members of a row that begins a run, because it was planned, stopped or in shadow. */
export const beginsRun = { ...beginsStage, run_from: null, run_before: null, run_counts: null } as const;
