import type { CancelInput } from "@countersign/contract";
import { type Command, Option } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { keyOption, refusalText, type ServiceOptions, serviceClient, strangerText, urlOption } from "../../service.ts";
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

/** Adds `approvals revoke`. */
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
