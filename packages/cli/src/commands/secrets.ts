import type { Instance, SecretsStatus } from "@countersign/server";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { withInstance } from "../instance.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { wholeFrom } from "../whole-number.ts";

const status_help = `
Keys are told by names that give nothing of them away. Exit code: 1 when something opens with no key that is set here.
How a master key is replaced, step by step: docs/how-to/master-key.md.

Examples:
  $ countersign secrets status
  $ countersign secrets status --json | jq .needed_key_ids`;

const reseal_help = `
Safe beside running nodes, as long as every node already has the current key among its own. Works in small transactions;
a run that was cut off is gone on with by running it again. Exit code: 1 when something opens with no key that is set here;
that stays as it is.

Example:
  $ countersign secrets reseal && countersign secrets status`;

const replace_help = `
For a master key in the data directory (master.key). The former key goes to master-others.keys and opens what it sealed.
The service must be stopped: it would not know the new key. With DATABASE_URL that cannot be seen from here, so say it
with --stopped. Where the key is a setting, set COUNTERSIGN_MASTER_KEY and COUNTERSIGN_OTHER_MASTER_KEYS instead.

Example:
  $ countersign secrets replace-key-file`;

/** Adds `secrets status|reseal|replace-key-file`. */
export function addSecrets(program: Command, terminal: Terminal): void {
  const secrets = program.command("secrets").description("see to what is sealed with the master key");
  secrets
    .command("status")
    .description("tell which master keys the sealed values need")
    .option("--json", "print JSON", false)
    .addHelpText("after", status_help)
    .action(({ json }: { json: boolean }) => status(terminal, json));
  secrets
    .command("reseal")
    .description("seal everything anew with the current master key")
    .option("--batch <n>", "values in one transaction, 1 to 1000", wholeFrom(1, 1_000), 100)
    .addHelpText("after", reseal_help)
    .action(({ batch }: { batch: number }) => reseal(terminal, batch));
  secrets
    .command("replace-key-file")
    .description("make a new master key in the data directory")
    .option("--stopped", "the service that uses this data directory is stopped", false)
    .addHelpText("after", replace_help)
    .action(({ stopped }: { stopped: boolean }) => replaceKeyFile(terminal, stopped));
}

type KeyRing = Parameters<Instance["secrets"]["reseal"]>[0];

/** Returns the master keys. Throws CommandFailed if they cannot be used, with advice if there is none. */
async function openRing({ env }: Terminal): Promise<KeyRing> {
  const { openKeyRing, readConfig } = await import("@countersign/server");
  const keys = await openKeyRing(readConfig(env));
  if (keys.outcome === "opened") return keys.ring;
  throw noKey(keys);
}

function noKey({
  outcome,
  reason,
}: {
  readonly outcome: "missing" | "refused";
  readonly reason: string;
}): CommandFailed {
  if (outcome === "refused") return new CommandFailed(reason);
  return new CommandFailed(
    `${reason}: set COUNTERSIGN_DATA_DIR to the data directory of the service, or COUNTERSIGN_MASTER_KEY to its key; for a service that never ran, the first \`countersign serve\` makes one`,
  );
}

async function status(terminal: Terminal, json: boolean): Promise<void> {
  const ring = await openRing(terminal);
  const found = await withInstance(terminal, ({ secrets }) => secrets.status(ring));
  const { total: _, ...shown } = found;
  if (json) terminal.print(JSON.stringify(shown, null, 2));
  else terminal.print([statusTable(found), "", ...verdict(found)].join("\n"));
  if (found.unreadable > 0) terminal.exitCode = 1;
}

function statusTable({ key_id, other_key_ids, places }: SecretsStatus): string {
  const head = ["", "VALUES", `${key_id} (current)`, ...other_key_ids, "OPENED BY NONE"];
  const rows = places.map(({ place, total, by_key, unreadable }) => [
    place.replaceAll("_", " "),
    ...[total, ...[key_id, ...other_key_ids].map((id) => by_key[id] ?? 0), unreadable].map(String),
  ]);
  return formatTable(
    [head, ...rows],
    head.map((_, n) => n).filter((n) => n > 0),
  );
}

function verdict({ other_key_ids, needed_key_ids, unreadable }: SecretsStatus): string[] {
  const lines: string[] = [];
  if (unreadable > 0)
    lines.push("Some values open with no key that is set here: add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS.");
  for (const id of needed_key_ids) lines.push(`The master key ${id} is still needed: countersign secrets reseal`);
  for (const id of other_key_ids.filter((other) => !needed_key_ids.includes(other)))
    lines.push(`Nothing that is kept needs the master key ${id}. Before it is dropped, see docs/how-to/master-key.md.`);
  return lines.length > 0 ? lines : ["Everything opens with the current master key."];
}

async function reseal(terminal: Terminal, batch: number): Promise<void> {
  const ring = await openRing(terminal);
  const done = await withInstance(terminal, ({ secrets }) =>
    secrets.reseal(ring, (place) => terminal.printError(line(place)), batch),
  );
  const resealed = done.reduce((sum, each) => sum + each.resealed, 0);
  const unreadable = done.reduce((sum, each) => sum + each.unreadable, 0);
  terminal.print(`${resealed} values were sealed anew with the master key ${ring.key_id}`);
  if (unreadable === 0) return;
  const advice = "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS (countersign secrets status)";
  throw new CommandFailed(`${unreadable} values open with no key that is set here and stay as they are: ${advice}`);
}

type Resealed = Awaited<ReturnType<Instance["secrets"]["reseal"]>>[number];

function line({ place, resealed, unreadable }: Resealed): string {
  return `${place.replaceAll("_", " ")}: ${resealed} sealed anew${unreadable > 0 ? `, ${unreadable} opened by no key` : ""}`;
}

async function replaceKeyFile(terminal: Terminal, stopped: boolean): Promise<void> {
  const { readConfig, replaceMasterKeyFile } = await import("@countersign/server");
  const config = readConfig(terminal.env);
  const replaced = await replaceMasterKeyFile(config, stopped);
  if (replaced.outcome === "perhaps_running")
    throw new CommandFailed("stop the service that uses this data directory, and say so with --stopped");
  if (replaced.outcome === "running") throw new CommandFailed(`the service runs on ${config.data_dir}: stop it first`);
  if (replaced.outcome !== "replaced") throw noKey(replaced);
  const { key_id, other_key_ids } = replaced;
  terminal.print(`The master key is now ${key_id}; ${other_key_ids.join(", ")} still open what they sealed.`);
  terminal.print("Start the service, then: countersign secrets reseal");
}
