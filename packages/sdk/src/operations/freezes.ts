import type {
  Freeze,
  FreezeInput,
  FreezePreview,
  FreezePreviewQuery,
  UnfreezeInput,
  Unfreezing,
} from "@countersign/contract";
import type { Transport } from "../transport.ts";

/** Freezes. An unfreeze that is not `unfrozen` waits for a second, different person. */
export function freezeCalls(call: Transport) {
  const begin = async (path: string, body: FreezeInput) =>
    (await call<{ freeze: Freeze }>("POST", `${path}/freeze`, { body })).freeze;
  const end = (path: string, body: UnfreezeInput) => call<Unfreezing>("POST", `${path}/unfreeze`, { body });
  const agent = (agent_id: string) => `/v1/agents/${encodeURIComponent(agent_id)}`;
  const key = (key_id: string) => `/v1/api-keys/${encodeURIComponent(key_id)}`;
  return {
    /** Lists current freezes, newest first. */
    listFreezes: async () => (await call<{ freezes: Freeze[] }>("GET", "/v1/freezes")).freezes,

    /** Counts what a freeze would stop. */
    previewFreeze: async (query: FreezePreviewQuery) =>
      (await call<{ preview: FreezePreview }>("GET", "/v1/freezes/preview", { query: { ...query } })).preview,

    /** Stops all actions of an agent. The case of its id does not matter. */
    freezeAgent: (agent_id: string, input: FreezeInput) => begin(agent(agent_id), input),
    unfreezeAgent: (agent_id: string, input: UnfreezeInput) => end(agent(agent_id), input),

    /** Stops all actions of a key, of its rotations, and of the keys that it created. */
    freezeKey: (key_id: string, input: FreezeInput) => begin(key(key_id), input),
    unfreezeKey: (key_id: string, input: UnfreezeInput) => end(key(key_id), input),

    freezeOrganization: (input: FreezeInput) => begin("/v1/organization", input),
    unfreezeOrganization: (input: UnfreezeInput) => end("/v1/organization", input),
  };
}
