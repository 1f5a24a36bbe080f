/** From nothing to a key that works, in one call. Source: contract §1, §2.1 and §4; api.md §10. */
import type { Quickstart, QuickstartInput } from "@countersign/contract";
import { confirmSteps, faultAt, packSteps, recommendPacks, sureActions, sureClasses } from "@countersign/core";
import { takeIntake } from "../../store/organizations/organizations.ts";
import { insertNewKey } from "../keys/create-key.ts";
import type { Runtime } from "../runtime.ts";
import { createOrganization } from "./create-organization.ts";

/**
 * Creates an organization, its default membrane in shadow, and a live admin key: the membrane decides the mode, so going
 * live needs no new key. Faults: not_found (intake).
 */
export async function quickstart(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "settings">,
  input: QuickstartInput,
): Promise<Quickstart> {
  const org_id = runtime.ids.next("organization");
  return runtime.db.system(async (query) => {
    const intake = input.intake_id === undefined ? undefined : await takeIntake(query, input.intake_id, org_id);
    if (input.intake_id !== undefined && intake === undefined) {
      throw faultAt("not_found", "/intake_id", "not_found", "There is no such intake, or it was taken up already.");
    }
    const proposed = intake?.action_catalogue ?? [];
    const membrane = await createOrganization(runtime, query, {
      org_id,
      name: input.org_name,
      email: input.email,
      description: input.description,
      action_catalogue: sureActions(proposed).map(({ verb, type, data_classes }) => ({
        verb,
        type,
        data_classes: [...sureClasses(data_classes)],
      })),
      actor: "system",
    });
    if (membrane === null) throw new Error(`${org_id} exists already`);
    const key = await insertNewKey(runtime, query, {
      org_id,
      name: "quickstart",
      environment: "live",
      scope: "org",
      role: "admin",
      agent_id: null,
      created_by: null,
      actor: "system",
    });
    const recommended = intake?.recommended_packs ?? recommendPacks(input, []);
    return {
      membrane_id: membrane.membrane_id,
      membrane_status: "shadow",
      org_id,
      api_key: key.api_key,
      key_id: key.key_id,
      quickstart_snippet: snippet(runtime.settings.public_url(), key.api_key),
      next_steps: [
        "Store the API key now: it is shown here only.",
        "Run the snippet (node 18 or newer): it submits an intent and prints the decision.",
        ...packSteps(recommended),
        ...confirmSteps(proposed),
        `Watch decisions in shadow mode, then enforce them: POST /v1/membranes/${membrane.membrane_id}/go-live.`,
      ],
    };
  });
}

/** A complete program: `node first-intent.mjs` runs it as it stands. */
function snippet(public_url: string, api_key: string): string {
  return `// first-intent.mjs: run with "node first-intent.mjs"
const response = await fetch("${public_url}/v1/intents", {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-API-Key": "${api_key}" },
  body: JSON.stringify({
    intent: {
      agent: { id: "my-first-agent" },
      action: { type: "communication.email", verb: "send_email", target: { type: "mailbox", identifier: "someone@example.com" } },
      payload: { summary: "Say hello", content: { subject: "Hello", body: "Sent by an agent, after asking." } },
    },
  }),
});
const { decision, error } = await response.json();
if (error) throw new Error(error.message);
console.log(decision.verdict, "risk", decision.risk_score, "mode", decision.pipeline_mode);
for (const reason of decision.reasons) console.log("-", reason.policy, reason.message);
`;
}
