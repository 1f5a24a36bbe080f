import {
  listLogKeys,
  listLogWitnesses,
  readLogCheckpoint,
  readLogConsistency,
  readLogTile,
} from "../../../operations/log/read-log.ts";
import { rotateLogKey } from "../../../operations/log/rotate-log-key.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";

const textType = { "Content-Type": "text/plain; charset=utf-8" };

/** Of one organization, so only the reader may keep it. */
const tileHeaders = {
  "Content-Type": "application/octet-stream",
  "Cache-Control": "private, max-age=31536000, immutable",
};

export function logRoutes(
  runtime: Runtime,
): Pick<
  Handlers,
  "getLogCheckpoint" | "getLogTile" | "getLogConsistency" | "listLogKeys" | "listLogWitnesses" | "rotateLogKey"
> {
  return {
    async getLogCheckpoint({ caller, query }) {
      return { status: 200, json_text: await readLogCheckpoint(runtime, caller, query), headers: textType };
    },
    async listLogWitnesses({ caller }) {
      return { status: 200, body: { witnesses: await listLogWitnesses(runtime, caller) } };
    },
    async getLogTile({ caller, params }) {
      return { status: 200, file: once(await readLogTile(runtime, caller, params.tile)), headers: tileHeaders };
    },
    async getLogConsistency({ caller, query }) {
      return { status: 200, body: { consistency: await readLogConsistency(runtime, caller, query) } };
    },
    async listLogKeys({ caller }) {
      return { status: 200, body: { keys: await listLogKeys(runtime, caller) } };
    },
    async rotateLogKey({ caller, body }) {
      return { status: 200, body: { key: await rotateLogKey(runtime, caller, body) } };
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
