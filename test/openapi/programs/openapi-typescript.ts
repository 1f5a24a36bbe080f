/** Uses the types of openapi-typescript with its client. `./paths` is generated. */
import createClient from "openapi-fetch";
import type { paths } from "./paths.ts";

const client = createClient<paths>({
  baseUrl: process.env["COUNTERSIGN_URL"] ?? "",
  headers: { "X-API-Key": process.env["COUNTERSIGN_API_KEY"] },
});

const submitted = await client.POST("/v1/intents", {
  body: {
    intent: {
      agent: { id: "openapi-typescript-bot" },
      action: { verb: "send_money" },
      payload: { content: { amount_usd: 20 } },
    },
  },
});
if (submitted.error !== undefined) throw new Error(submitted.error.error.message);
const { data } = await client.GET("/v1/intents/{intent_id}/decision", {
  params: { path: { intent_id: submitted.data.intent_id } },
});
const outcome: "approve" | "approve_modified" | "block" | null | undefined = data?.decision.outcome;
console.log(outcome);
