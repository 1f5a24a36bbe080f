import { type Config, type Instance, openKeyRing } from "@countersign/server";
import { type Finding, note, ok, onOneLine, problem } from "./finding.ts";

/** Checks whether the configured master keys open the sealed values of a migrated database. */
export async function checkSecrets(config: Config, { secrets }: Instance): Promise<Finding[]> {
  const keys = await openKeyRing(config);
  if (keys.outcome === "refused") return [inTheWay(keys.reason)];
  const ring = keys.outcome === "missing" ? null : keys.ring;
  const { key_id, needed_key_ids, total, unreadable } = await secrets.status(ring);
  if (total === 0) return [ok("secrets", "nothing is sealed yet")];
  if (keys.outcome === "missing") {
    const text = `${total} sealed values, and no key to open them: ${onOneLine(keys.reason)}`;
    return [problem("secrets", text, "restore the master key of the service")];
  }
  if (unreadable > 0) {
    const text = `no master key that is set here opens ${unreadable} of ${total} sealed values`;
    return [
      problem("secrets", text, "add the missing key to COUNTERSIGN_OTHER_MASTER_KEYS; see docs/how-to/master-key.md"),
    ];
  }
  if (needed_key_ids.length === 0) return [ok("secrets", `the master key ${key_id} opens all ${total} sealed values`)];
  const text = `some of ${total} sealed values still need the master key ${needed_key_ids.join(", ")}`;
  return [note("secrets", text, "countersign secrets reseal, before that key is dropped")];
}

/** Checks an instance without sealed values. A missing key is no problem, because the first start creates it. */
export async function checkKeyFile(config: Config): Promise<Finding[]> {
  const keys = await openKeyRing(config);
  return keys.outcome === "refused" ? [inTheWay(keys.reason)] : [];
}

function inTheWay(reason: string): Finding {
  return problem("secrets", onOneLine(reason), "fix this: until then the service does not start");
}
