import {
  type ApiKey,
  type ApiKeyCreated,
  ApiKeyInput,
  limits as contractLimits,
  type KeyBindingsInput,
  type ObservedBindings,
  type WarnedKey,
} from "@countersign/contract";
import type { FaultDetail } from "@countersign/core";
import type { KeyLimits } from "../../operations/keys/set-key-limits.ts";
import { readRateLimits } from "../start/setting-values.ts";
import type { OpenedDatabase } from "./open-database.ts";

export const command_line_actor = "command_line";

export interface InstanceKeys {
  /** Checks the input as the API does. Null: valid. */
  problems(input: ApiKeyInput): Promise<readonly FaultDetail[] | null>;
  /**
   * `person`: the address or user_id of an account, or a name for a person without one. Undefined: the user of the
   * command line, who is one person. Faults: not_found (account).
   */
  create(org_id: string, input: ApiKeyInput, person?: string): Promise<ApiKeyCreated>;
  /** The newest first. */
  list(org_id: string): Promise<ApiKey[]>;
  /** Faults: not_found. */
  revoke(org_id: string, key_id: string): Promise<void>;
  /** `bindings` null: unbinds the key. Faults: not_found, state_conflict (revoked), invalid_binding. */
  bind(org_id: string, key_id: string, bindings: KeyBindingsInput | null): Promise<ApiKey>;
  /** Returns bindings that fit the key's recent submissions. Faults: not_found. */
  observed(org_id: string, key_id: string): Promise<ObservedBindings>;
  warned(org_id: string): Promise<WarnedKey[]>;
  /** Reads limits such as `intents=6000,general=600`. */
  readLimits(text: string, categories: readonly string[]): ReturnType<typeof readRateLimits>;
  /** `limits` null: the instance's limits. Faults: not_found. */
  limit(org_id: string, key_id: string, limits: KeyLimits | null): Promise<void>;
}

export function instanceKeys(opened: OpenedDatabase): InstanceKeys {
  const callerOf = (org_id: string) => ({
    ...{ org_id, key_id: null, user_id: null, session_id: null, lineage_id: null },
    actor: command_line_actor,
  });
  return {
    async problems(input) {
      const { compileCheck } = await import("../../http/request/validate.ts");
      return compileCheck(ApiKeyInput)(input, 0);
    },
    async create(org_id, input, person) {
      const { createKey } = await import("../../operations/keys/create-key.ts");
      const { ownerNamed } = await import("../../operations/keys/key-owner.ts");
      const owner = person === undefined ? undefined : await ownerNamed(opened.db, org_id, person);
      return (await createKey(opened, callerOf(org_id), input, undefined, owner)).response;
    },
    async list(org_id) {
      const { listKeys } = await import("../../operations/keys/list-keys.ts");
      const keys: ApiKey[] = [];
      let cursor: string | undefined;
      do {
        const page = await listKeys(opened, { org_id }, cursor === undefined ? {} : { cursor });
        keys.push(...page.api_keys);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      return keys;
    },
    async revoke(org_id, key_id) {
      const { revokeKey } = await import("../../operations/keys/revoke-key.ts");
      await revokeKey(opened, callerOf(org_id), key_id);
    },
    async bind(org_id, key_id, bindings) {
      const { bindKey } = await import("../../operations/keys/bind-key.ts");
      return bindKey(opened, callerOf(org_id), key_id, bindings);
    },
    async observed(org_id, key_id) {
      const { readObservedBindings } = await import("../../operations/keys/observed-bindings.ts");
      return readObservedBindings(opened, { org_id }, key_id);
    },
    async warned(org_id) {
      const { readWarnedKeys } = await import("../../store/keys/key-warnings.ts");
      return opened.db.tenant(org_id, (query) => readWarnedKeys(query, org_id, contractLimits.key_warnings_max));
    },
    readLimits: readRateLimits,
    async limit(org_id, key_id, limits) {
      const { setKeyLimits } = await import("../../operations/keys/set-key-limits.ts");
      await setKeyLimits(opened, callerOf(org_id), key_id, limits);
    },
  };
}
