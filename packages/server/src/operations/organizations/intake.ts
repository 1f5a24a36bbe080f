import type { Intake, IntakeInput } from "@countersign/contract";
import { formatTimestampUs, intakeSteps } from "@countersign/core";
import { insertIntake } from "../../store/organizations/organizations.ts";
import type { Recording } from "../runtime.ts";
import { inTurns } from "../shared/turns.ts";

/** Recommends packs and an action catalogue for a described agent, and stores the answer for a quickstart. */
export async function recommend(runtime: Recording, input: IntakeInput): Promise<Intake> {
  const { recommended_packs, action_catalogue, next_steps } = await inTurns(intakeSteps(input));
  const answer: Intake = {
    intake_id: runtime.ids.next("intake"),
    recommended_packs: [...recommended_packs],
    action_catalogue: action_catalogue.map((entry) => ({ ...entry, data_classes: [...entry.data_classes] })),
    next_steps: [...next_steps],
  };
  const created_at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.system((query) => insertIntake(query, input, answer, created_at));
  return answer;
}
