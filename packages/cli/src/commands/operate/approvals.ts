import type { CancelInput, Grant } from "@countersign/contract";
import { type Command, Option } from "commander";

import { CommandFailed } from "../../command-failed.ts";
import {
  answered,
  keyOption,
  refusalText,
  type ServiceOptions,
  serviceClient,
  strangerText,
  urlOption,
} from "../../service.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";
import { visible } from "../../visible.ts";

interface RevokeOptions extends ServiceOptions {
  readonly reason?: string;
}

const help = `
Nobody can claim the action after this, and no equal action gets its approval. Only an approval that nobody has claimed can be revoked. The
page of the decision in the console names its review.

Example:
  $ countersign approvals revoke esc_01K… --reason "wrong account"`;

export function addApprovals(program: Command, terminal: Terminal): void {
  program
    .command("approvals")
    .description("approvals by people")
    .command("revoke <escalation_id>")
    .description("revoke an approval before an agent claims the action")
    .addOption(new Option("--reason <text>", "why; kept in the audit trail"))
    .addOption(urlOption())
    .addOption(keyOption("operator key"))
    .addHelpText("after", help)
    .action((escalation_id: string, options: RevokeOptions) => revoke(terminal, escalation_id, options));
}

async function revoke(terminal: Terminal, escalation_id: string, { reason, ...service }: RevokeOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  const input: CancelInput = reason === undefined ? {} : { reason };
  const { intent_id } = await client.revokeApproval(escalation_id, input).catch((error: unknown) => {
    const text = refusalText(error);
    throw text === null ? error : new CommandFailed(text);
  });
  if (intent_id === undefined) throw new CommandFailed(strangerText(""));
  terminal.print(visible(`the approval of ${intent_id} is revoked`));
}

export function addGrants(program: Command, terminal: Terminal): void {
  const grants = program.command("grants").description("actions that people allowed in advance");
  grants
    .command("list")
    .description("list grants, newest first")
    .option("--live", "only grants that are neither spent nor expired nor revoked", false)
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign grants list --live")
    .action((options: ServiceOptions & { readonly live: boolean }) => listGrants(terminal, options));
  grants
    .command("revoke <grant_id>")
    .description("revoke a grant at once, on every node")
    .addOption(urlOption())
    .addOption(keyOption("reviewer key"))
    .addHelpText("after", "\nExample:\n  $ countersign grants revoke grt_01K…")
    .action((grant_id: string, options: ServiceOptions) => revokeGrant(terminal, grant_id, options));
}

async function listGrants(
  terminal: Terminal,
  { live, ...service }: ServiceOptions & { readonly live: boolean },
): Promise<void> {
  const client = serviceClient(terminal, service);
  const found: Grant[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { ...(live ? { live: "true" as const } : {}), ...(cursor === undefined ? {} : { cursor }) };
    const { grants, next_cursor } = await answered(() => client.listGrants(query));
    if (!Array.isArray(grants)) throw new CommandFailed(strangerText(""));
    found.push(...grants);
    cursor = next_cursor;
  }
  if (found.length === 0) return terminal.print("there are no grants");
  const rows = found.map(({ grant_id, status, times, times_used, expires_at, granted_by, summary }) => [
    grant_id,
    status,
    `${times_used} of ${times}`,
    expires_at,
    granted_by,
    summary,
  ]);
  terminal.print(formatTable([["grant", "status", "used", "until", "by", "allows"], ...rows]));
}

async function revokeGrant(terminal: Terminal, grant_id: string, service: ServiceOptions): Promise<void> {
  const client = serviceClient(terminal, service);
  await answered(() => client.revokeGrant(grant_id));
  terminal.print(visible(`the grant ${grant_id} is revoked`));
}
