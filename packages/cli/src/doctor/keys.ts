/** Warns of keys that can escape the rules, and of keys that expire soon. */
import type { KeyWarning, WarnedKey } from "@countersign/contract";
import type { Instance } from "@countersign/server";
import { visible } from "../visible.ts";
import { type Finding, note } from "./finding.ts";

/** Findings name at most this many keys and count the others. */
const named_max = 10;

type Advised = Pick<WarnedKey, "key_id" | "name" | "expires_at">;

const texts: Readonly<Record<KeyWarning, (key: Advised) => readonly [text: string, advice: string]>> = {
  unbound: ({ key_id }) => [
    "is unbound while a membrane is live: it can ask for shadow mode or name another membrane",
    `countersign keys bind ${key_id} --observed`,
  ],
  admin_submits: ({ key_id }) => [
    "is an admin key and submitted actions: its holder can change every rule",
    `countersign keys create --observed-from ${key_id}, and give that key to the agent`,
  ],
  expires_soon: ({ expires_at }) => [
    `expires at ${expires_at.slice(0, 16).replace("T", " ")} UTC`,
    "rotate it (POST /v1/api-keys/…/rotate, with the key itself), or replace it",
  ],
};

export async function checkKeys(instance: Instance): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { org_id } of await instance.organizations.list())
    for (const key of await instance.keys.warned(org_id))
      findings.push(...key.warnings.map((each) => finding(org_id, key, each)));
  const more = findings.length - named_max;
  if (more <= 0) return findings;
  return [...findings.slice(0, named_max), note("keys", `${more} more warnings`, "countersign keys list")];
}

function finding(org_id: string, key: Advised, warning: KeyWarning): Finding {
  const [text, advice] = texts[warning](key);
  const named = key.name === null ? key.key_id : `${key.key_id} (${visible(key.name)})`;
  return note("keys", `${org_id}: ${named} ${text}`, advice);
}
