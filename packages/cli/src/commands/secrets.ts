import type { Instance, SecretsStatus } from "@countersign/server";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { withInstance } from "../instance.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { wholeFrom } from "../whole-number.ts";

const status_help = `
Names keys by ids that reveal nothing of them. Exit code: 1 if the keys that are set here do not open a value.
How to replace a master key: docs/how-to/master-key.md.

Examples:
  $ countersign secrets status
  $ countersign secrets status --json | jq .needed_key_ids`;

const reseal_help = `
Safe beside running nodes if every node already has the current key among its keys. Works in small transactions; after an
interruption, run it again to continue. Exit code: 1 if the keys that are set here do not open a value, which stays unchanged.

Example:
  $ countersign secrets reseal && countersign secrets status`;

const replace_help = `
For a master key in the data directory (master.key). The previous key moves to master-others.keys and opens what it sealed.
Stop the service first, because it does not know the new key. With DATABASE_URL the command cannot check this, so confirm it
with --stopped. For a key in a setting, set COUNTERSIGN_MASTER_KEY and COUNTERSIGN_OTHER_MASTER_KEYS instead.

Example:
  $ countersign secrets replace-key-file`;

export function addSecrets(program: Command, terminal: Terminal): void {
  const secrets = program.command("secrets").description("show which keys the sealed values need, and seal them again");
  secrets
    .command("status")
    .description("show which master keys the sealed values need")
    .option("--json", "print JSON", false)
    .addHelpText("after", status_help)
    .action(({ json }: { json: boolean }) => status(terminal, json));
  secrets
    .command("reseal")
    .description("seal all values again with the current master key")
    .option("--batch <n>", "values in one transaction, 1 to 1000", wholeFrom(1, 1_000), 100)
    .addHelpText("after", reseal_help)
    .action(({ batch }: { batch: number }) => reseal(terminal, batch));
  secrets
    .command("replace-key-file")
    .description("create a new master key in the data directory")
    .option("--stopped", "confirm that the service of this data directory is stopped", false)
    .addHelpText("after", replace_help)
    .action(({ stopped }: { stopped: boolean }) => replaceKeyFile(terminal, stopped));
}

type KeyRing = Parameters<Instance["secrets"]["reseal"]>[0];

/** Throws CommandFailed if the keys cannot be used, with advice if there is none. */
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
    `${reason}: set COUNTERSIGN_DATA_DIR to the data directory of the service, or COUNTERSIGN_MASTER_KEY to its key; for a new service, the first \`countersign serve\` creates one`,
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
  const head = ["", "VALUES", `${key_id} (current)`, ...other_key_ids, "NO KEY"];
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
    lines.push(
      "The keys that are set here do not open some values: add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS.",
    );
  for (const id of needed_key_ids) lines.push(`The master key ${id} is still needed: countersign secrets reseal`);
  for (const id of other_key_ids.filter((other) => !needed_key_ids.includes(other)))
    lines.push(`No stored value needs the master key ${id}. Before you drop it, see docs/how-to/master-key.md.`);
  return lines.length > 0 ? lines : ["The current master key opens everything."];
}

async function reseal(terminal: Terminal, batch: number): Promise<void> {
  const ring = await openRing(terminal);
  const done = await withInstance(terminal, ({ secrets }) =>
    secrets.reseal(ring, (place) => terminal.printError(line(place)), batch),
  );
  const resealed = done.reduce((sum, each) => sum + each.resealed, 0);
  const unreadable = done.reduce((sum, each) => sum + each.unreadable, 0);
  terminal.print(`${resealed} values were sealed again with the master key ${ring.key_id}`);
  if (unreadable === 0) return;
  const advice = "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS (countersign secrets status)";
  throw new CommandFailed(
    `the keys that are set here do not open ${unreadable} values, which stay unchanged: ${advice}`,
  );
}

type Resealed = Awaited<ReturnType<Instance["secrets"]["reseal"]>>[number];

function line({ place, resealed, unreadable }: Resealed): string {
  return `${place.replaceAll("_", " ")}: ${resealed} sealed again${unreadable > 0 ? `, ${unreadable} opened by no key` : ""}`;
}

async function replaceKeyFile(terminal: Terminal, stopped: boolean): Promise<void> {
  const { readConfig, replaceMasterKeyFile } = await import("@countersign/server");
  const config = readConfig(terminal.env);
  const replaced = await replaceMasterKeyFile(config, stopped);
  if (replaced.outcome === "perhaps_running")
    throw new CommandFailed("stop the service that uses this data directory, and confirm with --stopped");
  if (replaced.outcome === "running") throw new CommandFailed(`the service runs on ${config.data_dir}: stop it first`);
  if (replaced.outcome !== "replaced") throw noKey(replaced);
  const { key_id, other_key_ids } = replaced;
  terminal.print(`The master key is now ${key_id}; ${other_key_ids.join(", ")} still open what they sealed.`);
  terminal.print("Start the service, then: countersign secrets reseal");
}
