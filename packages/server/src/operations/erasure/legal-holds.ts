import { type LegalHold, type LegalHoldInput, limits } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { countHolds, deleteHold, insertHold, listHolds } from "../../store/erasure/erasures.ts";
import { restartRetention } from "../../store/erasure/retention.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { decodeCursor, idPlace, type Page, page } from "../../store/rows/cursor.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";

type Holding = Pick<Runtime, "db" | "clock" | "ids" | "callers">;

const isHold = idPlace("legal_hold");

/** Puts records on hold. Faults: invalid_request, state_conflict (too many), idempotency_conflict, unavailable. */
export function createLegalHold(
  runtime: Holding,
  caller: Caller,
  input: LegalHoldInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<LegalHold>> {
  const { kind, subject = null, reason } = input;
  if ((kind === "all") !== (subject === null)) {
    const message = "Name the subject of the hold, and no subject for a hold on everything.";
    throw faultAt("invalid_request", "/subject", "required", message);
  }
  const { org_id, actor } = caller;
  const terms = { operation: "create_legal_hold", idempotency_key, request: { body: input } };
  return untilFresh(runtime, caller, (current) =>
    idempotent(runtime, current, terms, async (query) => {
      const head = await lockHead(query, org_id);
      demandCurrentKey(head, current);
      if ((await countHolds(query, org_id)) >= limits.legal_holds_max) {
        const message = `There are ${limits.legal_holds_max} legal holds already. Release one first.`;
        throw faultAt("state_conflict", "", "not_allowed", message);
      }
      const placed_at = await databaseNow(query);
      const { person: placed_by } = await identityOf(query, org_id, current.lineage_id);
      const hold_id = runtime.ids.next("legal_hold");
      const hold: LegalHold = { hold_id, kind, subject, reason, placed_by, placed_at };
      await insertHold(query, org_id, hold);
      // Without the subject, because the trail must not keep what an erasure removes later.
      const data = { hold_id, kind, reason, person: placed_by };
      const entry = { intent_id: null, at: placed_at, actor, type: "legal_hold_placed", data } as const;
      await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
      return hold;
    }),
  );
}

/** Lists holds, newest first. Faults: invalid_request (cursor). */
export async function listLegalHolds(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  limit: number,
  cursor: string | undefined,
): Promise<Page<LegalHold>> {
  const before = decodeCursor(cursor, isHold);
  const rows = await runtime.db.tenant(org_id, (query) => listHolds(query, org_id, before, limit + 1));
  return page(rows, limit, ({ hold_id }) => hold_id);
}

/** Releases a hold, with its subject. Faults: not_found, unavailable. */
export function releaseLegalHold(runtime: Holding, caller: Caller, hold_id: string): Promise<void> {
  const { org_id, actor } = caller;
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(org_id, async (query) => {
      const head = await lockHead(query, org_id);
      demandCurrentKey(head, current);
      if (!(await deleteHold(query, org_id, hold_id))) throw new Fault("not_found");
      await restartRetention(query, org_id);
      const at = await databaseNow(query);
      const { person } = await identityOf(query, org_id, current.lineage_id);
      const data = { hold_id, person };
      const entry = { intent_id: null, at, actor, type: "legal_hold_released", data } as const;
      await changeHead(query, head, { audit: [auditRow(runtime.ids, entry)] });
    }),
  );
}
