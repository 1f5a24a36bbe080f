/** Uses the client of Hey API. `./client` is generated. */

import { client } from "./client/client.gen.ts";
import { getDecision, submitIntent } from "./client/index.ts";

client.setConfig({
  baseUrl: process.env["COUNTERSIGN_URL"] ?? "",
  auth: ({ name }) => (name === "X-API-Key" ? process.env["COUNTERSIGN_API_KEY"] : undefined),
});

const submitted = await submitIntent({
  body: {
    intent: {
      agent: { id: "hey-api-bot" },
      action: { verb: "send_money" },
      payload: { content: { amount_usd: 20 } },
    },
  },
});
if (submitted.error !== undefined) throw new Error(submitted.error.error.message);
const { data } = await getDecision({ path: { intent_id: submitted.data.intent_id } });
const outcome: "approve" | "approve_modified" | "block" | null | undefined = data?.decision.outcome;
console.log(outcome);
