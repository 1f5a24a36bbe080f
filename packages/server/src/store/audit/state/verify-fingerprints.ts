import type { IntentSubmission } from "@countersign/contract";
import { foldName } from "@countersign/contract";
import { actionFingerprint, factsOf } from "@countersign/core";
import type { Query } from "../../../ports.ts";
import type { Difference } from "./differences.ts";

interface Stored {
  readonly seq: number;
  readonly intent_id: string;
  readonly membrane_id: string;
  readonly fingerprint: string;
  readonly intent: { readonly submitted: IntentSubmission["intent"]; readonly decided_as: { readonly type: string } };
  readonly facts: unknown;
}

const page_rows = 200;

/** Computes the fingerprints of decisions again. Overrides and approvals are found by the fingerprint, which no hash covers. */
export async function* verifyFingerprints(query: Query, org_id: string): AsyncGenerator<Difference> {
  for (let after = 0; ; ) {
    const rows = await query<Stored>(
      `select seq, intent_id, membrane_id, encode(fingerprint, 'hex') as fingerprint, intent, facts from ledger
       where org_id = $1 and type = 'decided' and fingerprint is not null and intent is not null and facts is not null and seq > $2::bigint
       order by seq limit ${page_rows}`,
      [org_id, after],
    );
    for (const { seq, intent_id, membrane_id, fingerprint, intent, facts } of rows) {
      after = seq;
      const { submitted, decided_as } = intent;
      const computed = actionFingerprint({
        org_id,
        membrane_id,
        agent_id: submitted.agent.id,
        ancestors: (factsOf(facts)?.ancestors ?? []).map(({ id }) => foldName(id)),
        type: decided_as.type,
        verb: submitted.action.verb,
        target: submitted.action.target ?? null,
        content: submitted.payload?.content ?? null,
      });
      if (computed !== fingerprint)
        yield { table: "ledger", id: intent_id, problem: "changed", columns: ["fingerprint"], seq };
    }
    if (rows.length < page_rows) return;
  }
}
