/** SQL for observations: what agents reported after a decision. */
import type { Observation } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/** Writes an observation. */
export async function insertObservation(query: Query, org_id: string, observation: Observation): Promise<void> {
  await query(
    `insert into observations (org_id, observation_id, intent_id, status, detail, created_at)
     values ($1, $2, $3, $4, $5::json, $6::timestamptz)`,
    [
      org_id,
      observation.observation_id,
      observation.intent_id,
      observation.status,
      observation.detail === null ? null : JSON.stringify(observation.detail),
      observation.recorded_at,
    ],
  );
}
