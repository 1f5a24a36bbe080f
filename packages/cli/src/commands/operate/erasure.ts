import type { Erasure, LegalHoldInput, Retention, SubjectKind } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { answered, keyOption, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

interface EraseOptions extends ServiceOptions {
  readonly dryRun: boolean;
}

interface RetentionOptions extends EraseOptions {
  readonly content?: number | null;
  readonly failedDeliveries?: number | null;
  readonly facts?: number | null;
}

const erase_help = `
KIND is agent, person, session, target or value. person is agent.on_behalf_of, target is action.target.identifier, and value is any text
that contains it. Nobody can undo an erasure. See docs/how-to/erasure.md.

Examples:
  $ countersign erase subject person jane@example.com --dry-run
  $ countersign erase subject value jane@example.com`;

const retention_help = `
Content is what a decision was about. Decisions themselves stay. Legal holds are stronger.

Example:
  $ countersign retention set --content 365 --failed-deliveries 30 --dry-run`;

const dryRun = () => new Option("--dry-run", "count what would be erased, and change nothing").default(false);

export function addErasure(program: Command, terminal: Terminal): void {
  const erase = program.command("erase").description("erase what the records say about somebody");
  erase
    .command("subject <kind> <subject>")
    .description("erase what the records say about a subject")
    .addOption(dryRun())
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", erase_help)
    .action((kind: SubjectKind, subject: string, options: EraseOptions) =>
      erased(terminal, options, (client, query) => client.eraseSubject(kind, subject, query)),
    );
  erase
    .command("intent <intent_id>")
    .description("erase what one intent was about")
    .addOption(dryRun())
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign erase intent int_01K… --dry-run")
    .action((intent_id: string, options: EraseOptions) =>
      erased(terminal, options, (client, query) => client.eraseIntent(intent_id, query)),
    );
  erase
    .command("list")
    .description("list erasures, newest first")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign erase list")
    .action((options: ServiceOptions) => listErasures(terminal, options));
  addRetention(program, terminal);
  addLegalHolds(program, terminal);
}

function addRetention(program: Command, terminal: Terminal): void {
  const retention = program.command("retention").description("how long records keep their content");
  retention
    .command("show")
    .description("show the days and what is due")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign retention show")
    .action((options: ServiceOptions) => showRetention(terminal, options));
  retention
    .command("set")
    .description("set the days; `forever` keeps everything; what is not given stays as it is")
    .addOption(new Option("--content <days>", "of decisions: intent, facts, reviews, comments").argParser(days))
    .addOption(new Option("--failed-deliveries <days>", "bodies of failed deliveries").argParser(days))
    .addOption(new Option("--facts <days>", "stored facts of agents and targets").argParser(days))
    .option("--dry-run", "count what these days would remove, and save nothing", false)
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", retention_help)
    .action((options: RetentionOptions) => setRetention(terminal, options));
}

function addLegalHolds(program: Command, terminal: Terminal): void {
  const holds = program.command("legal-holds").description("records that nobody may erase");
  holds
    .command("place <kind> [subject]")
    .description("put records on hold; KIND is as in `erase`, or `all` without a subject")
    .addOption(new Option("--reason <text>", "why").makeOptionMandatory(true))
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", '\nExample:\n  $ countersign legal-holds place target cus_3000 --reason "case 4711"')
    .action((kind: string, subject: string | undefined, options: ServiceOptions & { readonly reason: string }) =>
      placeHold(terminal, kind, subject, options),
    );
  holds
    .command("list")
    .description("list legal holds, newest first")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign legal-holds list")
    .action((options: ServiceOptions) => listHolds(terminal, options));
  holds
    .command("release <hold_id>")
    .description("release a legal hold")
    .addOption(urlOption())
    .addOption(keyOption("admin key"))
    .addHelpText("after", "\nExample:\n  $ countersign legal-holds release hld_01K…")
    .action(async (hold_id: string, options: ServiceOptions) => {
      await answered(() => serviceClient(terminal, options).deleteLegalHold(hold_id));
      terminal.print(visible(`the legal hold ${hold_id} is released`));
    });
}

function days(text: string): number | null {
  if (text === "forever") return null;
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("give a number of days, or forever.");
}

async function erased(
  terminal: Terminal,
  { dryRun, ...service }: EraseOptions,
  erase: (client: Client, query: { readonly dry_run?: "true" }) => Promise<Erasure>,
): Promise<void> {
  const client = serviceClient(terminal, service);
  const erasure = await answered(() => erase(client, dryRun ? { dry_run: "true" } : {}));
  if (erasure === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(countsText(erasure));
  if (dryRun) return;
  const { erasure_id, status, subject_sha256, subject_salt } = erasure;
  terminal.print(status === "done" ? `${erasure_id} is done` : `${erasure_id} goes on in the background`);
  terminal.print(`proof of the subject: SHA-256 of the salt ${subject_salt} and the subject is ${subject_sha256}`);
}

function countsText({ counts }: Erasure): string {
  const found = Object.entries(counts).filter(([, count]) => count > 0);
  return found.length === 0
    ? "nothing is found"
    : formatTable(
        found.map(([what, count]) => [what, String(count)]),
        [1],
      );
}

async function listErasures(terminal: Terminal, service: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const { erasures } = await answered(() => client.listErasures({ limit: 200 }));
  if (!Array.isArray(erasures)) throw new CommandFailed(strangerText(""));
  if (erasures.length === 0) return terminal.print("there are no erasures");
  const rows = erasures.map(({ erasure_id, kind, status, progress, counts, requested_by, created_at }) => [
    ...[
      erasure_id ?? "",
      kind,
      status,
      `${Math.floor(progress * 100)} %`,
      String(counts.intents),
      requested_by,
      created_at,
    ],
  ]);
  terminal.print(formatTable([["erasure", "kind", "status", "read", "intents", "by", "at"], ...rows]));
}

async function showRetention(terminal: Terminal, service: ServiceOptions): Promise<void> {
  const { retention, due } = await answered(() => serviceClient(terminal, service).getRetention());
  printRetention(terminal, retention, due);
}

async function setRetention(terminal: Terminal, options: RetentionOptions): Promise<void> {
  const { content, failedDeliveries, facts, dryRun, ...service } = options;
  const client = serviceClient(terminal, service);
  const { retention: before } = await answered(() => client.getRetention());
  const wanted: Retention = {
    content_days: content === undefined ? before.content_days : content,
    failed_deliveries_days: failedDeliveries === undefined ? before.failed_deliveries_days : failedDeliveries,
    facts_days: facts === undefined ? before.facts_days : facts,
  };
  const { retention, due } = await answered(() => client.putRetention(wanted, dryRun ? { dry_run: "true" } : {}));
  printRetention(terminal, retention, due);
  terminal.print(dryRun ? "nothing is saved" : "saved; the service removes what is due page by page, each minute");
}

function printRetention(terminal: Terminal, retention: Retention, due: Readonly<Record<string, unknown>>): void {
  const shown = (kept: number | null) => (kept === null ? "forever" : `${kept} days`);
  terminal.print(
    formatTable([
      ["what", "kept", "due now"],
      ["content of decisions", shown(retention.content_days), `${due.decisions} (${due.held} on hold)`],
      ["bodies of failed deliveries", shown(retention.failed_deliveries_days), String(due.failed_deliveries)],
      ["stored facts", shown(retention.facts_days), String(due.facts)],
    ]),
  );
}

async function placeHold(
  terminal: Terminal,
  kind: string,
  subject: string | undefined,
  { reason, ...service }: ServiceOptions & { readonly reason: string },
): Promise<void> {
  const client = serviceClient(terminal, service);
  const input: LegalHoldInput = {
    kind: kind as LegalHoldInput["kind"],
    ...(subject === undefined ? {} : { subject }),
    reason,
  };
  const hold = await answered(() => client.createLegalHold(input));
  if (hold === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(visible(`the legal hold ${hold.hold_id} is placed`));
}

async function listHolds(terminal: Terminal, service: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const { legal_holds } = await answered(() => client.listLegalHolds({ limit: 200 }));
  if (!Array.isArray(legal_holds)) throw new CommandFailed(strangerText(""));
  if (legal_holds.length === 0) return terminal.print("there are no legal holds");
  const rows = legal_holds.map(({ hold_id, kind, subject, reason, placed_by, placed_at }) => [
    ...[hold_id, kind, subject ?? "", reason, placed_by, placed_at],
  ]);
  terminal.print(formatTable([["hold", "kind", "subject", "reason", "by", "at"], ...rows]));
}
