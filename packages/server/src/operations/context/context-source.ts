import { type ContextSource, type ContextSourceInput, limits, secret_mask } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import {
  type ContextSourceRow,
  deleteContextSource,
  readContextSource,
  sourceSecretContext,
  writeContextSource,
} from "../../store/context/context-source.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { readAgain } from "../shared/read-again.ts";
import { acceptedUrl } from "../webhooks/webhook-events.ts";
import { newWebhookSecret } from "../webhooks/webhook-secret.ts";

/**
 * Replaces the source. Every later commit uses its facts. Only this answer shows the new secret. Faults:
 * webhook_url_refused.
 */
export async function registerContextSource(
  { db, clock, ids, sealer, httpOut }: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "httpOut">,
  caller: KnownCaller,
  { url: given, timeout_ms = limits.context_source_timeout_ms_max }: ContextSourceInput,
): Promise<ContextSource> {
  const { org_id, actor } = caller;
  const url = await acceptedUrl(httpOut, given);
  const secret = newWebhookSecret(ids);
  const created_at = formatTimestampUs(clock.now_us());
  const secret_sealed = sealer.seal(secret, sourceSecretContext(org_id));
  const source = { url, timeout_ms, secret_sealed, created_at };
  const entry = { intent_id: null, at: created_at, actor, type: "context_source_registered" } as const;
  await db.tenant(org_id, async (query) => {
    const audit = [auditRow(ids, { ...entry, data: { url, timeout_ms } })];
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      return { raise: ["context"], audit };
    });
    await writeContextSource(query, org_id, source);
  });
  return { ...shown(source), secret };
}

export async function getContextSource({ db }: Pick<Runtime, "db">, { org_id }: KnownCaller): Promise<ContextSource> {
  const source = await db.tenant(org_id, (query) => readContextSource(query, org_id));
  if (source === null) throw new Fault("not_found");
  return shown(source);
}

/** Removes the source. No later commit uses its facts. Faults: not_found, those of refuseEnded. */
export async function removeContextSource({ db, clock, ids }: Recording, caller: KnownCaller): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(clock.now_us());
  await db.tenant(org_id, async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const url = await deleteContextSource(query, org_id);
      if (url === undefined) throw new Fault("not_found");
      const entry = { intent_id: null, at, actor, type: "context_source_deleted" } as const;
      return { raise: ["context"], audit: [auditRow(ids, { ...entry, data: { url } })] };
    });
  });
}

export async function isRegistered(
  db: Pick<Runtime["db"], "tenant">,
  org_id: string,
  { secret_sealed }: ContextSourceRow,
): Promise<boolean> {
  const source = await readAgain(db, org_id, (query) => readContextSource(query, org_id));
  return source?.secret_sealed === secret_sealed;
}

function shown({ url, timeout_ms, created_at }: ContextSourceRow): ContextSource {
  return { url, timeout_ms, secret: secret_mask, created_at };
}
