import { bindKey } from "../../operations/keys/bind-key.ts";
import { createKey } from "../../operations/keys/create-key.ts";
import { listKeys } from "../../operations/keys/list-keys.ts";
import { readObservedBindings } from "../../operations/keys/observed-bindings.ts";
import { revokeKey } from "../../operations/keys/revoke-key.ts";
import { rotateKey } from "../../operations/keys/rotate-key.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type KeyRuntime = Pick<Runtime, "db" | "clock" | "ids" | "log" | "sealer" | "callers">;
type KeyHandlers = Pick<
  Handlers,
  "createApiKey" | "listApiKeys" | "changeApiKey" | "getObservedBindings" | "revokeApiKey" | "rotateApiKey"
>;

export function keyRoutes(runtime: KeyRuntime): KeyHandlers {
  return {
    async createApiKey({ caller, body, idempotency_key }) {
      const { response, replayed } = await createKey(runtime, caller, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: response });
    },

    async listApiKeys({ caller, query }) {
      return { status: 200, body: await listKeys(runtime, caller, query) };
    },

    async changeApiKey({ caller, params, body }) {
      return { status: 200, body: { api_key: await bindKey(runtime, caller, params.key_id, body.bindings) } };
    },

    async getObservedBindings({ caller, params }) {
      return { status: 200, body: { observed: await readObservedBindings(runtime, caller, params.key_id) } };
    },

    async revokeApiKey({ caller, params }) {
      await revokeKey(runtime, caller, params.key_id);
      return { status: 204 };
    },

    async rotateApiKey({ caller, params }) {
      return { status: 200, body: await rotateKey(runtime, caller, params.key_id) };
    },
  };
}
