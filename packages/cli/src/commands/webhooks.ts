import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { secret_mask } from "@countersign/contract";
import { ApiError, type Client, ConnectionError, verifyWebhook, WebhookRejected } from "@countersign/sdk";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { onInterrupt } from "../interrupt.ts";
import {
  keyOption,
  refusalText,
  type ServiceOptions,
  serviceAddress,
  serviceClient,
  strangerText,
  urlOption,
} from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { visibleJson } from "../visible.ts";
import { wholeFrom } from "../whole-number.ts";
import { addWebhookCare } from "./webhook-care.ts";

interface ListenOptions extends ServiceOptions {
  readonly port: number;
  readonly secret?: string;
  readonly status: number;
}

const permits = "COUNTERSIGN_WEBHOOK_ALLOW_HTTP=true COUNTERSIGN_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8";

const help = `
Without --secret the command registers a webhook with the service, and deletes it at the end. The service must permit receivers
on its own machine: start it with ${permits}.
Prints each delivery as one line of JSON on standard output. Answers a delivery that is not genuine with 400, and reports it on
standard error.

Examples:
  $ countersign webhooks listen
  $ countersign webhooks listen --port 4000 --secret whsec_… | jq .event.event_type
  $ countersign webhooks listen --status 500      # see the service retry`;

/** Bytes. Larger than any delivery. */
const body_bytes_max = 16 * 1_048_576;

export function addWebhooks(program: Command, terminal: Terminal): void {
  const webhooks = program
    .command("webhooks")
    .description("receive webhooks on this machine, and look after those of the service");
  addWebhookCare(webhooks, terminal);
  webhooks
    .command("listen")
    .description("print and verify what arrives, for local development")
    .option("--port <n>", "port on 127.0.0.1; 0 picks one", wholeFrom(0, 65_535), 0)
    .option(
      "--secret <whsec>",
      "secret of a webhook that you registered yourself (default: COUNTERSIGN_WEBHOOK_SECRET)",
    )
    .addOption(urlOption("the service to register with"))
    .addOption(keyOption("admin key"))
    .option("--status <n>", "the status of answers to genuine deliveries", wholeFrom(200, 599), 200)
    .addHelpText("after", help)
    .action((options: ListenOptions) => listen(terminal, options));
}

async function listen(terminal: Terminal, options: ListenOptions): Promise<void> {
  let secret = options.secret ?? terminal.env["COUNTERSIGN_WEBHOOK_SECRET"] ?? "";
  const known = new Set<string>();
  const seen = (delivery_id: string) => known.has(delivery_id) || !known.add(delivery_id);

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (body === null) return void response.writeHead(413).end();
    try {
      const verified = await verifyWebhook(body, request.headers, secret, { seen });
      terminal.print(visibleJson(verified));
      response.writeHead(options.status).end();
    } catch (error) {
      if (!(error instanceof WebhookRejected)) throw error;
      terminal.printError(`refused: ${error.message}`);
      response.writeHead(400).end();
    }
  }

  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      terminal.printError(inspect(error));
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port, "127.0.0.1", resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new CommandFailed(
      `another program listens on port ${options.port}: give another --port, or leave it out to use a free one`,
    );
  });
  const receiver_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  let unregister = async () => {};
  try {
    if (secret === "") {
      const client = serviceClient(terminal, options);
      const webhook = await client.registerWebhook({ url: receiver_url, description: "countersign webhooks listen" });
      if (webhook === undefined) throw new CommandFailed(strangerText(""));
      unregister = () => deleted(client, webhook.id);
      // The secret is masked if the first answer was lost and the client repeated the request.
      secret = webhook.secret === secret_mask ? (await client.rotateWebhookSecret(webhook.id)).secret : webhook.secret;
      terminal.printError(`registered ${webhook.id} with ${serviceAddress(terminal, options)}`);
    }
    const ended = new Promise<void>((resolve) => {
      onInterrupt(terminal, resolve);
      // Without a reader, nobody would see acknowledged deliveries.
      terminal.stdout.once("error", () => resolve());
    });
    // Printed after the webhook's removal is arranged, because the reader may end the process at once.
    terminal.printError(`listening on ${receiver_url}; Ctrl-C ends`);
    await ended;
  } catch (error) {
    throw asRefusal(error);
  } finally {
    server.close();
    server.closeAllConnections();
    await unregister();
  }
}

/** Accepts that the webhook no longer exists. Throws CommandFailed if it remains. */
async function deleted(client: Client, webhook_id: string): Promise<void> {
  try {
    await client.deleteWebhook(webhook_id);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return;
    // Omits the hint on how to start a service.
    const text = error instanceof ConnectionError ? error.message : refusalText(error);
    if (text === null) throw error;
    throw new CommandFailed(`delete ${webhook_id} in the console, because it may still be registered: ${text}`);
  }
}

/** Converts a refusal or a missing answer to a CommandFailed. Returns other errors unchanged. */
function asRefusal(error: unknown): unknown {
  const text = refusalText(error);
  if (text === null) return error;
  if (error instanceof ApiError && error.code === "webhook_url_refused")
    return new CommandFailed(`the service does not permit receivers on its own machine; start it with ${permits}`);
  return new CommandFailed(text);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > body_bytes_max) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
