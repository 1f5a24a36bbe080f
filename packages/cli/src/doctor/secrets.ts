/** Whether what is sealed in the database opens with the master keys that are set here. */
import { type Config, type Instance, openKeyRing } from "@countersign/server";
import { type Finding, note, ok, onOneLine, problem } from "./finding.ts";

/** Checks whether the sealed values of a migrated database open with the master keys. */
export async function checkSecrets(config: Config, { secrets }: Instance): Promise<Finding[]> {
  const keys = await openKeyRing(config);
  if (keys.outcome === "refused") return [inTheWay(keys.reason)];
  const ring = keys.outcome === "missing" ? null : keys.ring;
  const { key_id, needed_key_ids, total, unreadable } = await secrets.status(ring);
  if (total === 0) return [ok("secrets", "nothing is sealed yet")];
  if (keys.outcome === "missing") {
    const text = `${total} sealed values, and no key to open them: ${onOneLine(keys.reason)}`;
    return [problem("secrets", text, "put the master key back that the service ran with")];
  }
  if (unreadable > 0) {
    const text = `${unreadable} of ${total} sealed values open with no master key that is set here`;
    return [
      problem("secrets", text, "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS; see docs/how-to/master-key.md"),
    ];
  }
  if (needed_key_ids.length === 0)
    return [ok("secrets", `all ${total} sealed values open with the master key ${key_id}`)];
  const text = `some of ${total} sealed values still need the master key ${needed_key_ids.join(", ")}`;
  return [note("secrets", text, "countersign secrets reseal, before that key is dropped")];
}

/** Checks a master key where nothing is sealed yet. A missing key is no problem, because the first start creates it. */
export async function checkKeyFile(config: Config): Promise<Finding[]> {
  const keys = await openKeyRing(config);
  return keys.outcome === "refused" ? [inTheWay(keys.reason)] : [];
}

function inTheWay(reason: string): Finding {
  return problem("secrets", onOneLine(reason), "mend that: until then the service does not start");
}
