import Type from "typebox";
import { limits } from "../../limits.ts";
import {
  LogCheckpointQuery,
  LogConsistency,
  LogConsistencyQuery,
  LogKey,
  LogKeyRotation,
  LogWitness,
  text,
  wrapped,
} from "../../resources/index.ts";
import type { Operation } from "../operation.ts";

const reading = { method: "GET", tag: "Log", rate: "general", auth: ["operator", "auditor"] } as const;

export const logOperations = {
  getLogCheckpoint: {
    ...reading,
    path: "/v1/audit/log/checkpoint",
    summary: "Read the newest signed checkpoint of the log",
    description:
      "A C2SP tlog-checkpoint: origin, size and root of the tree over all entries of the organization's ledger, signed as C2SP signed-note. " +
      "It covers an entry within 2 s. Cosignatures of witnesses follow. For a new organization without a checkpoint the answer is 503.",
    query: LogCheckpointQuery,
    refuses: ["not_found"],
    answers: {
      200: { description: "The checkpoint.", schema: Type.String(), media_types: ["text/plain"] },
    },
  },
  getLogTile: {
    ...reading,
    path: "/v1/audit/log/tile/{tile}",
    rest: true,
    summary: "Read hashes of the log's tree",
    description:
      "`tile` is `<L>/<N>` or `<L>/<N>.p/<W>` with its slashes, as in C2SP tlog-tiles: level, index such as `x001/234`, and width of a partial " +
      "tile. So `/v1/audit/log` is the prefix of a tiled log. A tile never changes. A tile that the newest checkpoint does not have is 404.",
    params: Type.Object({ tile: text(limits.log_tile_path_chars_max) }, { additionalProperties: false }),
    answers: {
      200: {
        description: "Hashes of 32 bytes, one after the other.",
        schema: Type.String(),
        media_types: ["application/octet-stream"],
      },
    },
  },
  getLogConsistency: {
    ...reading,
    path: "/v1/audit/log/consistency",
    summary: "Prove that a later checkpoint extends an earlier one",
    description: "Between any two sizes up to that of the newest checkpoint.",
    query: LogConsistencyQuery,
    answers: { 200: { description: "The proof.", schema: wrapped("consistency", LogConsistency) } },
  },
  listLogWitnesses: {
    ...reading,
    path: "/v1/audit/log/witnesses",
    summary: "List the witnesses of the log",
    description:
      "The operator names witnesses in COUNTERSIGN_LOG_WITNESSES. A witness cosigns only checkpoints that extend every one that it saw.",
    answers: {
      200: {
        description: "The witnesses.",
        schema: Type.Object({ witnesses: Type.Array(LogWitness) }, { title: "LogWitnesses" }),
      },
    },
  },
  listLogKeys: {
    ...reading,
    path: "/v1/audit/log/key",
    summary: "Read the keys that sign checkpoints",
    description:
      "All keys that ever signed, the oldest first. Retired keys still verify the checkpoints of their time.",
    answers: {
      200: { description: "The keys.", schema: Type.Object({ keys: Type.Array(LogKey) }, { title: "LogKeys" }) },
    },
  },
  rotateLogKey: {
    method: "POST",
    path: "/v1/audit/log/key/rotate",
    tag: "Log",
    rate: "general",
    summary: "Give the log a new key",
    description:
      "The new key signs all later checkpoints. Earlier keys sign beside it until the overlap ends, so that readers can learn the new key. " +
      "With `overlap_days` 0 they sign nothing from now on.",
    auth: ["admin"],
    body: LogKeyRotation,
    body_optional: true,
    body_bytes_max: limits.small_body_bytes_max,
    answers: { 200: { description: "The new key.", schema: wrapped("key", LogKey) } },
    refuses: ["state_conflict", "unavailable"],
  },
} as const satisfies Record<string, Operation>;
