import type { OrgAuditRecord } from "@countersign/contract";
import type { Column } from "./columns.ts";

/** The columns of an exported audit record: all of its members, so that a reader can check the chain of hashes. */
export const auditColumns: readonly Column<OrgAuditRecord>[] = [
  { name: "seq", type: "integer", of: ({ seq }) => seq },
  { name: "at", type: "time", of: ({ at }) => at },
  { name: "type", type: "text", of: ({ type }) => type },
  { name: "actor_type", type: "text", of: ({ actor }) => actor.type },
  { name: "actor_id", type: "text", of: ({ actor }) => actor.id },
  { name: "intent_id", type: "text", of: ({ intent_id }) => intent_id },
  { name: "data", type: "text", of: ({ data }) => JSON.stringify(data) },
  { name: "audit_id", type: "text", of: ({ audit_id }) => audit_id },
  { name: "entry", type: "integer", of: ({ entry }) => entry },
  { name: "leaf", type: "text", of: ({ leaf }) => leaf },
  { name: "salt", type: "text", of: ({ salt }) => salt },
  { name: "erased_at", type: "time", of: ({ erased }) => erased?.at },
  { name: "hash", type: "text", of: ({ hash }) => hash },
  { name: "root", type: "text", of: ({ root }) => root },
];
