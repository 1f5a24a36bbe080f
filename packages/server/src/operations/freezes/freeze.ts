import { type Freeze, type FreezeInput, limits } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { countFreezes, readFreeze, writeFreeze } from "../../store/freezes/freezes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { refuseEnded } from "../people/caller-ended.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { closeFrozenPage } from "./close-frozen-reviews.ts";
import { type FreezeTarget, subjectOf } from "./freeze-subject.ts";

/**
 * Freezes an agent, a key or the organization, or changes a freeze. No later commit on any node approves the subject's
 * actions. With `block`, open reviews are closed: one page before this resolves, the rest by the worker. Faults:
 * not_found (a key), already_exists (too many freezes), those of refuseEnded, unavailable.
 */
export async function freeze(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "callers" | "deliveries">,
  caller: Caller,
  target: FreezeTarget,
  input: FreezeInput,
): Promise<Freeze> {
  const frozen = await untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(caller.org_id, (query) => writeDown(runtime, query, current, target, input)),
  );
  if (!frozen.closing_reviews) return frozen;
  return { ...frozen, closing_reviews: await closeFirstPage(runtime, caller.org_id) };
}

async function closeFirstPage(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "deliveries">,
  org_id: string,
): Promise<boolean> {
  try {
    return await closeFrozenPage(runtime, org_id);
  } catch (error) {
    runtime.log.warn({ err: error, org_id }, "could not close reviews of a frozen subject; the worker will close them");
    return true;
  }
}

async function writeDown(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  caller: Caller,
  target: FreezeTarget,
  { mode, reason }: FreezeInput,
): Promise<Freeze> {
  const { org_id, actor } = caller;
  const head = await lockHead(query, org_id);
  demandCurrentKey(head, caller);
  await refuseEnded(query, caller);
  const subject = await subjectOf(query, org_id, target);
  const before = await readFreeze(query, org_id, subject);
  const { freezes_per_organization_max } = limits;
  if (before === undefined && (await countFreezes(query, org_id)) >= freezes_per_organization_max)
    throw faultAt(
      "already_exists",
      "",
      "not_allowed",
      `At most ${freezes_per_organization_max} things can be frozen at once.`,
    );

  const { person } = await identityOf(query, org_id, caller.lineage_id);
  const at = await databaseNow(query);
  const seq = head.audit_seq + 1;
  const frozen = await writeFreeze(query, org_id, { ...subject, mode, reason, frozen_by: person, at, seq });
  const replaced = before === undefined ? {} : { replaced: { mode: before.mode, reason: before.reason } };
  const data = { ...subject, mode, reason, ...replaced };
  // Raises the policy epoch, so that decisions without the freeze become stale.
  const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: "frozen", data })];
  await changeHead(query, head, { raise: ["policy"], audit });
  return frozen;
}
