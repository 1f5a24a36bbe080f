/** Whether what is sealed in the database opens with the master keys that are set here. */
import { randomBytes } from "node:crypto";
import {
  type Config,
  createSealer,
  type Database,
  MasterKeyMissing,
  readMasterKeys,
  StartRefused,
  sealedStatus,
} from "@countersign/server";
import { type Finding, note, ok, problem, reasonOf } from "./finding.ts";

/** What the sealed values of a migrated database need. */
export async function checkSecrets(config: Config, db: Database): Promise<Finding[]> {
  const keys = await keysOrRefusal(config);
  if (isInTheWay(keys)) return [inTheWay(keys)];
  // A key that has sealed nothing: then everything there is opens with none.
  const ring = keys instanceof StartRefused ? createSealer(randomBytes(32)) : createSealer(...ringOf(keys));
  const counts = await sealedStatus({ db, ring });
  const total = counts.reduce((sum, each) => sum + each.total, 0);
  const unreadable = counts.reduce((sum, each) => sum + each.unreadable, 0);
  if (total === 0) return [ok("secrets", "nothing is sealed yet")];
  if (keys instanceof StartRefused) {
    const text = `${total} sealed values, and no key to open them: ${reasonOf(keys)}`;
    return [problem("secrets", text, "put the master key back that the service ran with")];
  }
  if (unreadable > 0) {
    const text = `${unreadable} of ${total} sealed values open with no master key that is set here`;
    return [problem("secrets", text, "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS; see docs/master-key.md")];
  }
  const needed = ring.other_key_ids.filter((id) => counts.some(({ by_key }) => (by_key[id] ?? 0) > 0));
  if (needed.length === 0) return [ok("secrets", `all ${total} sealed values open with the master key ${ring.key_id}`)];
  const text = `some of ${total} sealed values still need the master key ${needed.join(", ")}`;
  return [note("secrets", text, "countersign secrets reseal, before that key is dropped")];
}

/** Where nothing can be sealed yet: only a file that keeps the service from starting is told. */
export async function checkKeyFile(config: Config): Promise<Finding[]> {
  const keys = await keysOrRefusal(config);
  return isInTheWay(keys) ? [inTheWay(keys)] : [];
}

type Keys = Awaited<ReturnType<typeof readMasterKeys>>;

function keysOrRefusal(config: Config): Promise<Keys | StartRefused> {
  return readMasterKeys(config).catch((error: unknown) => {
    if (error instanceof StartRefused) return error;
    throw error;
  });
}

/** Where there is no key, the first start makes one. */
function isInTheWay(keys: Keys | StartRefused): keys is StartRefused {
  return keys instanceof StartRefused && !(keys instanceof MasterKeyMissing);
}

function inTheWay(refusal: StartRefused): Finding {
  return problem("secrets", reasonOf(refusal), "mend that: until then the service does not start");
}

const ringOf = ({ master_key, other_master_keys }: Keys) => [master_key, other_master_keys] as const;
