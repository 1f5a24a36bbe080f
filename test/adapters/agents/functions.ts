import { guardFunction } from "@countersign/sdk/functions";
import { bank, client, program } from "./agent-program.ts";

await program(async (scenario) => {
  const { amount_usd, to, call_id, session, review } = scenario;
  const { done, send } = bank();
  const sendMoney = guardFunction(client(scenario), { agent: { id: "functions-bot" }, review }, "send_money", send);
  const answer = await sendMoney({ amount_usd, to }, { call_id, session });
  if (answer.status === "suspended") return { done, read: null, state: answer.review.intent_id };
  if (answer.status === "refused") return { done, read: answer.text, state: null };
  return { done, read: [answer.result, ...answer.notes].join("\n\n"), state: null };
});
