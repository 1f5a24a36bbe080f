import type { KeyRing, MasterKeys, Resealed, SealedCount } from "@countersign/server";
import type { Command } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { withInstance } from "../instance.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import { wholeFrom } from "../whole-number.ts";

const statusHelp = `
Keys are told by names that give nothing of them away. Exit code: 1 when something opens with no key that is set here.
How a master key is replaced, step by step: docs/master-key.md.

Examples:
  $ countersign secrets status
  $ countersign secrets status --json | jq .needed_key_ids`;

const resealHelp = `
Safe beside running nodes, as long as every node already has the current key among its own. Works in small transactions;
a run that was cut off is gone on with by running it again. Exit code: 1 when something opens with no key that is set here;
that stays as it is.

Example:
  $ countersign secrets reseal && countersign secrets status`;

const replaceHelp = `
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
    .addHelpText("after", statusHelp)
    .action(({ json }: { json: boolean }) => status(terminal, json));
  secrets
    .command("reseal")
    .description("seal everything anew with the current master key")
    .option("--batch <n>", "values in one transaction, 1 to 1000", wholeFrom(1, 1_000), 100)
    .addHelpText("after", resealHelp)
    .action(({ batch }: { batch: number }) => reseal(terminal, batch));
  secrets
    .command("replace-key-file")
    .description("make a new master key in the data directory")
    .option("--stopped", "the service that uses this data directory is stopped", false)
    .addHelpText("after", replaceHelp)
    .action(({ stopped }: { stopped: boolean }) => replaceKeyFile(terminal, stopped));
}

async function openRing({ env }: Terminal): Promise<KeyRing> {
  const { createSealer, readConfig, readMasterKeys } = await import("@countersign/server");
  const { master_key, other_master_keys } = await orAdvice(readMasterKeys(readConfig(env)));
  return createSealer(master_key, other_master_keys);
}

/** The keys. Throws CommandFailed that says where one may be, when there is none. */
function orAdvice(keys: Promise<MasterKeys>): Promise<MasterKeys> {
  return keys.catch(async (error: unknown) => {
    const { MasterKeyMissing } = await import("@countersign/server");
    if (!(error instanceof MasterKeyMissing)) throw error;
    throw new CommandFailed(
      `${error.message}: set COUNTERSIGN_DATA_DIR to the data directory of the service, or COUNTERSIGN_MASTER_KEY to its key; for a service that never ran, the first \`countersign serve\` makes one`,
    );
  });
}

async function status(terminal: Terminal, json: boolean): Promise<void> {
  const { sealedStatus } = await import("@countersign/server");
  const ring = await openRing(terminal);
  const counts = await withInstance(terminal, ({ db }) => sealedStatus({ db, ring }));
  const { key_id, other_key_ids } = ring;
  const needed_key_ids = other_key_ids.filter((id) => counts.some(({ by_key }) => (by_key[id] ?? 0) > 0));
  const unreadable = counts.reduce((sum, each) => sum + each.unreadable, 0);
  if (json)
    terminal.print(JSON.stringify({ key_id, other_key_ids, needed_key_ids, unreadable, places: counts }, null, 2));
  else terminal.print([statusTable(ring, counts), "", ...verdict(ring, needed_key_ids, unreadable)].join("\n"));
  if (unreadable > 0) terminal.exitCode = 1;
}

function statusTable({ key_id, other_key_ids }: KeyRing, counts: readonly SealedCount[]): string {
  const head = ["", "VALUES", `${key_id} (current)`, ...other_key_ids, "OPENED BY NONE"];
  const rows = counts.map(({ place, total, by_key, unreadable }) => [
    place.replaceAll("_", " "),
    ...[total, ...[key_id, ...other_key_ids].map((id) => by_key[id] ?? 0), unreadable].map(String),
  ]);
  return formatTable(
    [head, ...rows],
    head.map((_, n) => n).filter((n) => n > 0),
  );
}

function verdict({ other_key_ids }: KeyRing, needed: readonly string[], unreadable: number): string[] {
  const lines: string[] = [];
  if (unreadable > 0)
    lines.push("Some values open with no key that is set here: add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS.");
  for (const id of needed) lines.push(`The master key ${id} is still needed: countersign secrets reseal`);
  for (const id of other_key_ids.filter((other) => !needed.includes(other)))
    lines.push(`Nothing that is kept needs the master key ${id}. Before it is dropped, see docs/master-key.md.`);
  return lines.length > 0 ? lines : ["Everything opens with the current master key."];
}

async function reseal(terminal: Terminal, batch: number): Promise<void> {
  const { resealAll } = await import("@countersign/server");
  const ring = await openRing(terminal);
  const done = await withInstance(terminal, ({ db }) =>
    resealAll({ db, ring }, (place) => terminal.printError(line(place)), batch),
  );
  const resealed = done.reduce((sum, each) => sum + each.resealed, 0);
  const unreadable = done.reduce((sum, each) => sum + each.unreadable, 0);
  terminal.print(`${resealed} values were sealed anew with the master key ${ring.key_id}`);
  if (unreadable === 0) return;
  const advice = "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS (countersign secrets status)";
  throw new CommandFailed(`${unreadable} values open with no key that is set here and stay as they are: ${advice}`);
}

function line({ place, resealed, unreadable }: Resealed): string {
  return `${place.replaceAll("_", " ")}: ${resealed} sealed anew${unreadable > 0 ? `, ${unreadable} opened by no key` : ""}`;
}

async function replaceKeyFile(terminal: Terminal, stopped: boolean): Promise<void> {
  const { attachEmbedded, masterKeyId, readConfig, replaceMasterKeyFile } = await import("@countersign/server");
  const config = readConfig(terminal.env);
  if (config.master_key === null && !stopped) {
    if (config.database_url !== null)
      throw new CommandFailed("stop the service that uses this data directory, and say so with --stopped");
    if ((await attachEmbedded(config.data_dir)) !== null)
      throw new CommandFailed(`the service runs on ${config.data_dir}: stop it first`);
  }
  const { master_key, other_master_keys }: MasterKeys = await orAdvice(replaceMasterKeyFile(config));
  const others = other_master_keys.map(masterKeyId).join(", ");
  terminal.print(`The master key is now ${masterKeyId(master_key)}; ${others} still open what they sealed.`);
  terminal.print("Start the service, then: countersign secrets reseal");
}
