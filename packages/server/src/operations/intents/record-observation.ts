/** What an agent reports after its decision. */
import type { Observation, ObservationInput } from "@countersign/contract";
import { Fault, formatTimestampUs, hiddenTextsInAction, maskedValue, redactedRemark } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { readDecision, readIntent } from "../../store/intents/intents.ts";
import { withHead } from "../../store/organizations/heads.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import type { Recording, Runtime } from "../runtime.ts";
import { type Caller, shownActor } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { maySee } from "./read-intents.ts";

/** Adds an observation to an intent, which may have any number. Faults: not_found, idempotency_conflict. */
export function recordObservation(
  runtime: Recording,
  caller: Caller,
  intent_id: string,
  input: ObservationInput,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Observation>> {
  const request = { params: { intent_id }, body: input };
  const admit = async (query: Query): Promise<void> => {
    const decision = await readDecision(query, caller.org_id, intent_id);
    if (decision === undefined || !maySee(caller, decision)) throw new Fault("not_found");
  };
  return idempotent(runtime, caller, { operation: "record_observation", idempotency_key, request, admit }, (query) =>
    observe(runtime, caller, intent_id, input, query),
  );
}

async function observe(
  runtime: Pick<Runtime, "clock" | "ids">,
  caller: Caller,
  intent_id: string,
  input: ObservationInput,
  query: Query,
): Promise<Observation> {
  const intent = input.detail === undefined ? undefined : await readIntent(query, caller.org_id, intent_id);
  const observation: Observation = {
    observation_id: runtime.ids.next("observation"),
    intent_id,
    status: input.status,
    detail: redactedRemark(
      maskedValue(input.detail ?? null, []),
      intent === undefined ? [] : hiddenTextsInAction(intent),
    ),
    recorded_by: shownActor(caller.actor),
    recorded_at: formatTimestampUs(runtime.clock.now_us()),
  };
  const { observation_id, status, detail, recorded_at } = observation;
  await withHead(query, caller.org_id, {
    audit: [
      auditRow(runtime.ids, {
        intent_id,
        at: recorded_at,
        actor: caller.actor,
        type: "observed",
        data: { observation_id, status, detail },
      }),
    ],
  });
  return observation;
}
