import type {
  LogCheckpointQuery,
  LogConsistency,
  LogConsistencyQuery,
  LogKey,
  LogKeyRotation,
  LogWitness,
} from "@countersign/contract";
import type { Transport } from "../../transport.ts";

export function logCalls(call: Transport) {
  return {
    /** Returns the newest signed checkpoint of the organization's log, a C2SP tlog-checkpoint. */
    getLogCheckpoint: (query: LogCheckpointQuery = {}) =>
      call<string>("GET", "/v1/audit/log/checkpoint", { query: { ...query }, as: "text" }),

    /** Lists the witnesses that cosign checkpoints, with the entries that each has not cosigned yet. */
    listLogWitnesses: async () => (await call<{ witnesses: LogWitness[] }>("GET", "/v1/audit/log/witnesses")).witnesses,

    /** Returns a tile of the log's tree. `tile` is its path in C2SP tlog-tiles, such as `0/x001/234` or `0/000.p/7`. */
    getLogTile: (tile: string) => call<Uint8Array>("GET", `/v1/audit/log/tile/${tile}`, { as: "bytes" }),

    /** Returns the proof that the tree of a later size extends that of an earlier one. */
    getLogConsistency: async (query: LogConsistencyQuery) =>
      (await call<{ consistency: LogConsistency }>("GET", "/v1/audit/log/consistency", { query: { ...query } }))
        .consistency,

    /** Lists the keys that sign checkpoints and those that did, the oldest first. */
    listLogKeys: async () => (await call<{ keys: LogKey[] }>("GET", "/v1/audit/log/key")).keys,

    /** Gives the log a new key. Earlier ones sign beside it for `overlap_days`. */
    rotateLogKey: async (rotation: LogKeyRotation = {}) =>
      (await call<{ key: LogKey }>("POST", "/v1/audit/log/key/rotate", { body: rotation })).key,
  };
}
