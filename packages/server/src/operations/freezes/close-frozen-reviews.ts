import type { Freeze } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { readOpenAfter } from "../../store/escalations/escalations.ts";
import {
  type ClosingFreeze,
  noteClosed,
  readClosingFreeze,
  readClosingOrganizations,
  readFreezes,
} from "../../store/freezes/freezes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { cancelReviews } from "../escalations/review-steps.ts";
import type { Runtime } from "../runtime.ts";

/** Reviews per transaction. The organization's decisions wait meanwhile. */
const page_rows = 100;
const organizations_max = 50;

/**
 * Closes open reviews of subjects frozen with `block`, one page per organization, so that waiting callers get an
 * answer. Failing organizations are added to `passed_over`, which the next pass skips. Returns true if there may be
 * more.
 */
export async function closeFrozenReviews(
  runtime: Pick<Runtime, "db" | "ids" | "log" | "deliveries">,
  passed_over: string[],
): Promise<boolean> {
  const found = await runtime.db.system((query) => readClosingOrganizations(query, organizations_max, passed_over));
  let more = false;
  for (const org_id of found) {
    try {
      more = (await closeFrozenPage(runtime, org_id)) || more;
    } catch (error) {
      passed_over.push(org_id);
      runtime.log.error({ err: error, org_id }, "could not close reviews of a frozen subject");
    }
  }
  return more;
}

export async function closeFrozenPage(
  runtime: Pick<Runtime, "db" | "ids" | "deliveries">,
  org_id: string,
): Promise<boolean> {
  const page = await runtime.db.tenant(org_id, (query) => closePage(runtime, query, org_id));
  if (page.closed > 0) runtime.deliveries.wake(org_id);
  return page.more;
}

async function closePage(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
): Promise<{ readonly closed: number; readonly more: boolean }> {
  const head = await lockHead(query, org_id);
  const closing = await readClosingFreeze(query, org_id);
  if (closing === undefined) return { closed: 0, more: false };
  const freezes = await readFreezes(query, org_id);
  const open = await readOpenAfter(query, org_id, closing.closed_up_to, page_rows);
  const frozen = open.filter((each) => freezes.of(each).some((freeze) => isSame(freeze, closing)));
  const step = {
    kind: "cancel",
    by: closing.frozen_by,
    comment: commentOf(closing),
    at: await databaseNow(query),
  } as const;
  const ids = frozen.map(({ escalation_id }) => escalation_id);
  const changes = await cancelReviews(runtime, query, org_id, ids, step);
  const last = open.at(-1);
  const more = open.length === page_rows && last !== undefined;
  await noteClosed(query, org_id, closing, more ? last.escalation_id : null);
  if (changes.audit.length > 0) await changeHead(query, head, changes);
  return { closed: changes.audit.length, more: more || (await readClosingFreeze(query, org_id)) !== undefined };
}

function isSame(a: Pick<ClosingFreeze, "kind" | "subject">, b: Pick<ClosingFreeze, "kind" | "subject">): boolean {
  return a.kind === b.kind && a.subject === b.subject;
}

/** Omits the reason, because it may quote a text that policies hide. */
function commentOf({ kind, name }: Pick<Freeze, "kind" | "name">): string {
  return kind === "organization" ? "The organization was frozen." : `The ${kind} ${name} was frozen.`;
}
