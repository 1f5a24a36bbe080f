/**
 * A receiver of webhooks: verify, skip what you know, acknowledge at once, work afterwards.
 *
 *   npm run build
 *   WEBHOOK_SECRET=whsec_… PORT=4000 node examples/webhook-receiver/receiver.mjs
 *
 * The service calls https addresses only, so put it behind your TLS proxy.
 */
import { createServer } from "node:http";
import { verifyWebhook, WebhookRejected } from "@countersign/sdk";

const secret = process.env.WEBHOOK_SECRET ?? "";
if (secret === "") {
  console.error("WEBHOOK_SECRET: set it to the secret from the registration's answer");
  process.exit(1);
}

// Retries outlive this process, so replace this memory with a table that has a unique key.
const known = new Set();
const seen = (delivery_id) => known.has(delivery_id) || !known.add(delivery_id);

const server = createServer(async (request, response) => {
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { event, delivery_id, repeated } = await verifyWebhook(Buffer.concat(chunks), request.headers, secret, {
      seen,
    });
    // Answer any 2xx within 10 s. Do longer work after the answer.
    response.writeHead(204).end();
    if (!repeated) await work(event, delivery_id);
  } catch (error) {
    if (error instanceof WebhookRejected) console.error(`refused: ${error.message}`);
    else console.error(error);
    // After the 204 the service sends no retry, so you must repeat failed work yourself.
    if (!response.headersSent) response.writeHead(error instanceof WebhookRejected ? 400 : 500).end();
  }
});

async function work(event, delivery_id) {
  console.log(`${delivery_id} ${event.event_type} ${event.intent_id ?? ""}`);
}

server.listen(Number(process.env.PORT ?? 4000), () => console.log(`listening on port ${server.address().port}`));
