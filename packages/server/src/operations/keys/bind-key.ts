import type { ApiKey, KeyBindingsInput } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { lockKey, readKey, setKeyBindings } from "../../store/keys/keys.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { checkedBindings } from "./key-bindings.ts";

/**
 * Replaces the bindings of a key; null: unbound. Every later request on every node uses them. Faults: not_found,
 * state_conflict (revoked), invalid_binding, those of refuseEnded.
 */
export async function bindKey(
  runtime: Pick<Runtime, "db" | "ids">,
  caller: KnownCaller,
  key_id: string,
  input: KeyBindingsInput | null,
): Promise<ApiKey> {
  const { org_id, actor } = caller;
  return runtime.db.tenant(org_id, async (query) => {
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const key = await lockKey(query, org_id, key_id);
      if (key === undefined) throw new Fault("not_found");
      if (key.state === "revoked") throw faultAt("state_conflict", "", "status", "The key is revoked.");
      const bindings = await checkedBindings(query, { ...key, org_id }, input);
      await setKeyBindings(query, org_id, key_id, bindings);
      const data = { key_id, bindings };
      const entry = {
        intent_id: null,
        at: await databaseNow(query),
        actor,
        type: "key_bindings_changed",
        data,
      } as const;
      return { raise: ["auth"], audit: [auditRow(runtime.ids, entry)] };
    });
    const bound = await readKey(query, org_id, key_id);
    if (bound === undefined) throw new Error("the key that was bound is gone");
    return bound;
  });
}
