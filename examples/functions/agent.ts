/** One tool call of a loop of your own. Run it again with the same words to resume it after a review. */
import { createClient } from "@countersign/sdk";
import { guardFunction } from "@countersign/sdk/functions";

const countersign = createClient({
  base_url: process.env.COUNTERSIGN_URL ?? "http://127.0.0.1:8080",
  api_key: process.env.COUNTERSIGN_API_KEY,
});

const sendMoney = guardFunction(
  countersign,
  { agent: { id: "desk-bot" }, review: "suspend" },
  "send_money",
  async ({ amount_usd, to }: { amount_usd: number; to: string }) => {
    console.log(`sent ${amount_usd} USD to ${to}`);
    return "sent";
  },
);

// The id of the call, so that the same call is never made twice.
const [amount_usd = "20", to = "ann", call_id = "invoice-4711"] = process.argv.slice(2);
const answer = await sendMoney({ amount_usd: Number(amount_usd), to }, { call_id });
if (answer.status === "done") console.log("The model reads:", answer.result, ...answer.notes);
else if (answer.status === "refused") console.log("The model reads:", answer.text);
else console.log(`Waits for review ${answer.review.escalation_id}. Run this again after the review.`);
