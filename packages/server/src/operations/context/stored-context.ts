import type { ContextDocument, StoredContext } from "@countersign/contract";
import { contextErrors, Fault, formatTimestampUs, normalizeContext } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import {
  type ContextSubject,
  deleteStoredContext,
  readStoredContext,
  writeStoredContext,
} from "../../store/context/stored-context.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { refuseGone } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/**
 * Replaces the subject's document. Every later commit uses it. Faults: invalid_context with every problem, those of
 * refuseGone.
 */
export async function putContext(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "contextPauses">,
  caller: Caller,
  subject: ContextSubject,
  document: ContextDocument,
): Promise<StoredContext> {
  const now_us = runtime.clock.now_us();
  const errors = contextErrors(document, now_us);
  if (errors.length > 0) throw new Fault("invalid_context", { details: errors.map((error) => ({ ...error })) });
  const stored = normalizeContext(document);
  await runtime.contextPauses.over(caller.org_id);
  const received_at = formatTimestampUs(now_us);
  await runtime.db.tenant(caller.org_id, async (query) => {
    await changeFacts(query, caller, [
      auditRow(runtime.ids, {
        intent_id: null,
        at: received_at,
        actor: caller.actor,
        type: "context_stored",
        data: { subject },
      }),
    ]);
    await writeStoredContext(query, caller.org_id, subject, stored, received_at, caller.key_id ?? caller.user_id);
  });
  return shown(subject, stored, received_at);
}

export async function getContext(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  subject: ContextSubject,
): Promise<StoredContext> {
  const [row] = await runtime.db.tenant(caller.org_id, (query) => readStoredContext(query, caller.org_id, [subject]));
  if (row === undefined) throw new Fault("not_found");
  return shown(subject, row.document, row.received_at);
}

/** Removes the subject's document. Faults: not_found, those of refuseGone. */
export async function deleteContext(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "contextPauses">,
  caller: Caller,
  subject: ContextSubject,
): Promise<void> {
  await runtime.contextPauses.over(caller.org_id);
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(caller.org_id, async (query) => {
    await changeFacts(query, caller, [
      auditRow(runtime.ids, { intent_id: null, at, actor: caller.actor, type: "context_deleted", data: { subject } }),
    ]);
    if (!(await deleteStoredContext(query, caller.org_id, subject))) throw new Fault("not_found");
  });
}

/**
 * Makes decisions under way stale. Call before writing the facts. Clients push often, so the caller is read again only
 * if keys or sessions changed since the gate.
 */
async function changeFacts(query: Query, caller: Caller, audit: readonly AuditRow[]): Promise<void> {
  await withHead(query, caller.org_id, async ({ auth_epoch }) => {
    if (auth_epoch !== caller.auth_epoch) await refuseGone(query, caller);
    return { raise: ["context"], audit };
  });
}

function shown(subject: ContextSubject, document: ContextDocument, received_at: string): StoredContext {
  return {
    scope: subject.scope,
    agent_id: subject.scope === "agent" ? subject.agent_id : null,
    target: subject.scope === "target" ? { type: subject.type, identifier: subject.identifier } : null,
    document,
    received_at,
  };
}
