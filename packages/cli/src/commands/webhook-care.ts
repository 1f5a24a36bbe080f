/** `countersign webhooks list | test | deliveries | replay | resume | rotate-secret`. */
import { type Delivery, limits } from "@countersign/contract";
import { type Client, pagesOf } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { keyOption, refusalText, type ServiceOptions, serviceClient, urlOption } from "../service.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { visible, visibleJson } from "../visible.ts";
import { wholeFrom } from "../whole-number.ts";

const look_every_ms = 500;
const looks_max = 24;

interface DeliveriesOptions extends ServiceOptions {
  readonly webhook?: string;
  readonly status?: Delivery["status"];
  readonly from?: string;
  readonly to?: string;
}

interface ReplayOptions extends ServiceOptions {
  readonly from: string;
  readonly to?: string;
  readonly all: boolean;
}

interface RotationOptions extends ServiceOptions {
  readonly overlap?: number;
}

export function addWebhookCare(webhooks: Command, terminal: Terminal): void {
  const command = (usage: string, about: string, example: string) =>
    webhooks
      .command(usage)
      .description(about)
      .addOption(urlOption("the service"))
      .addOption(keyOption("operator or admin key"))
      .addHelpText("after", `\nExample:\n  $ countersign webhooks ${example}`);
  const run = (work: (client: Client) => Promise<void>) => async (options: ServiceOptions) => {
    try {
      await work(serviceClient(terminal, options));
    } catch (error) {
      const text = refusalText(error);
      if (text === null) throw error;
      throw new CommandFailed(text);
    }
  };
  command("list", "list webhooks with their health in the last 24 hours", "list").action(
    run((client) => list(terminal, client)),
  );
  command("test <webhook_id>", "send a test event and print the result", "test wh_01K…").action(
    (webhook_id: string, options: ServiceOptions) => run((client) => test(terminal, client, webhook_id))(options),
  );
  command(
    "deliveries",
    "print deliveries, newest first, one line of JSON each",
    "deliveries --status failed | jq .error",
  )
    .option("--webhook <webhook_id>", "only of this webhook")
    .addOption(new Option("--status <status>").choices(["pending", "delivered", "failed", "cancelled"]))
    .option("--from <time>", "made at or after this time (RFC 3339)")
    .option("--to <time>", "made before this time")
    .action((options: DeliveriesOptions) => run((client) => deliveries(terminal, client, options))(options));
  command(
    "replay <webhook_id>",
    "send the events of a time range again",
    "replay wh_01K… --from 2026-01-31T10:00:00Z --to 2026-01-31T12:00:00Z",
  )
    .requiredOption("--from <time>", "events at or after this time (RFC 3339)")
    .option("--to <time>", "events before this time (default: now)")
    .option("--all", "also events that the receiver accepted", false)
    .action((webhook_id: string, options: ReplayOptions) =>
      run((client) => replay(terminal, client, webhook_id, options))(options),
    );
  command("resume <webhook_id>", "resume a paused webhook", "resume wh_01K…").action(
    (webhook_id: string, options: ServiceOptions) =>
      run(async (client) => {
        const { id, url } = await client.resumeWebhook(webhook_id);
        terminal.print(
          `resumed ${id} (${visible(url)}); send what was kept with: countersign webhooks replay ${id} --from TIME`,
        );
      })(options),
  );
  addRotation(command, terminal, run);
}

function addRotation(
  command: (usage: string, about: string, example: string) => Command,
  terminal: Terminal,
  run: (work: (client: Client) => Promise<void>) => (options: ServiceOptions) => Promise<void>,
): void {
  command(
    "rotate-secret <webhook_id>",
    "give a webhook a new signing secret and print only the secret (admin key)",
    "rotate-secret wh_01K… --overlap 24",
  )
    .addOption(
      new Option("--overlap <hours>", "both secrets sign for this time (default: the old secret ends now)").argParser(
        wholeFrom(1, limits.webhook_overlap_seconds_max / 3_600),
      ),
    )
    .action((webhook_id: string, { overlap, ...options }: RotationOptions) =>
      run(async (client) => {
        const rotation = overlap === undefined ? {} : { overlap_seconds: overlap * 3_600 };
        const { secret, url, secret_overlap_ends_at } = await client.rotateWebhookSecret(webhook_id, rotation);
        terminal.print(secret);
        const until =
          secret_overlap_ends_at === null
            ? "the old secret is void"
            : `the old secret signs X-Service-Signature until ${secret_overlap_ends_at}; webhook-signature has both`;
        terminal.printError(`${webhook_id} (${visible(url)}): ${until}`);
      })(options),
    );
}

async function list(terminal: Terminal, client: Client): Promise<void> {
  const health = new Map((await client.listWebhookHealth()).map((each) => [each.webhook_id, each]));
  const rows: string[][] = [];
  for await (const { webhooks } of pagesOf((place) => client.listWebhooks(place)))
    for (const { id, url, active, paused_at } of webhooks) {
      const { success_rate = null, p95_ms = null, last_success_at = null } = health.get(id) ?? {};
      const state = paused_at !== null ? "paused" : active ? "on" : "off";
      const share = success_rate === null ? "-" : `${(Math.floor(success_rate * 1_000) / 10).toFixed(1)} %`;
      rows.push([id, state, share, p95_ms === null ? "-" : `${p95_ms} ms`, last_success_at ?? "-", url]);
    }
  terminal.print(formatTable([["WEBHOOK", "STATE", "ACCEPTED", "P95", "LAST SUCCESS", "URL"], ...rows]));
}

async function test(terminal: Terminal, client: Client, webhook_id: string): Promise<void> {
  let delivery = await client.testWebhook(webhook_id);
  for (let look = 0; look < looks_max && delivery.attempts.length === 0 && delivery.status === "pending"; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, look_every_ms));
    const { delivery_id } = delivery;
    delivery = (await client.listDeliveries({ delivery_id })).deliveries[0] ?? delivery;
  }
  terminal.print(visibleJson(delivery));
  if (delivery.status !== "delivered") throw new CommandFailed(delivery.error ?? "the receiver has not answered yet");
}

async function deliveries(terminal: Terminal, client: Client, options: DeliveriesOptions): Promise<void> {
  const { webhook: webhook_id, status, from, to } = options;
  const filters = { webhook_id, status, from, to };
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
  const pages = pagesOf((place) => client.listDeliveries({ ...given, limit: limits.list_limit_max, ...place }));
  for await (const page of pages) for (const each of page.deliveries) terminal.print(visibleJson(each));
}

async function replay(terminal: Terminal, client: Client, webhook_id: string, options: ReplayOptions): Promise<void> {
  const { from, to = new Date().toISOString(), all } = options;
  let count = 0;
  const range = { from, to, which: all ? ("all" as const) : ("failed" as const) };
  const page_of = (place: object) =>
    client.replayDeliveries(webhook_id, range, { limit: limits.list_limit_max, ...place });
  for await (const { deliveries: sent } of pagesOf(page_of)) count += sent.length;
  terminal.print(`${count} sent again`);
}
