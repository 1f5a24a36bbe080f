/** The text that carries row sets to the commit statement: fields in lines, one parameter a table. */
import type { AuditRow } from "./audit.ts";
import type { DecisionRows, EscalationRow, EventRow } from "./commit-writer-rows.ts";

/** Between fields and between lines. JSON text never holds them raw; `encode` refuses them anywhere else. */
const fieldEnd = "\x1f";
const lineEnd = "\x1e";

/** A row set as the statement takes it. */
export interface EncodedRows {
  readonly row: string;
  readonly audit: readonly string[];
  readonly escalation: string | null;
  readonly events: readonly string[];
  /** A decision and its audit rows, nothing else. */
  readonly plain: boolean;
  /** Length of it all in UTF-16 units. */
  readonly size: number;
}

/** One column of a line: its name, its type, and whether the empty text stands for null. */
type Column = readonly [name: string, type: string, nullable?: "null"];

const rowColumns: readonly Column[] = [
  ["org_id", "text"],
  ["auth_epoch", "bigint"],
  ["policy_epoch", "bigint"],
  ["context_epoch", "bigint"],
  ["intent_id", "text"],
  ["decision_id", "text"],
  ["membrane_id", "text"],
  ["agent_id", "text"],
  ["key_id", "text", "null"],
  ["lineage_id", "text", "null"],
  ["mode", "text"],
  ["verdict", "text"],
  ["status", "text"],
  ["escalation_id", "text", "null"],
  ["fingerprint", "bytea"],
  ["created_at", "timestamptz"],
  ["month", "text"],
  ["operation", "text", "null"],
  ["idempotency_key", "text", "null"],
  ["request_sha256", "bytea", "null"],
  ["override_id", "text", "null"],
  ["intent", "json"],
  ["facts", "json"],
  ["decision", "json"],
];
const auditColumns: readonly Column[] = [
  ["n", "bigint"],
  ["audit_id", "text"],
  ["type", "text"],
  ["actor", "text"],
  ["at", "timestamptz"],
  ["hash", "bytea"],
  ["data", "json"],
];
const escalationColumns: readonly Column[] = [
  ["n", "bigint"],
  ["escalation_id", "text"],
  ["mode", "text"],
  ["status", "text"],
  ["expires_at", "timestamptz"],
  ["record", "json"],
];
const eventColumns: readonly Column[] = [
  ["n", "bigint"],
  ["event_id", "text"],
  ["event_type", "text"],
  ["intent_id", "text", "null"],
  ["decision_id", "text", "null"],
  ["escalation_id", "text", "null"],
  ["created_at", "timestamptz"],
  ["body", "json"],
];

/** Writes a row set as lines. Throws TypeError on what no statement could take: a separator in a field, no audit row. */
export function encode(rows: DecisionRows): EncodedRows {
  const { intent, epochs, idempotency: once } = rows;
  if (rows.audit.length === 0) throw new TypeError(`${intent.intent_id} comes without an audit row`);
  const row = line([
    rows.org_id,
    epochs.auth,
    epochs.policy,
    epochs.context,
    intent.intent_id,
    intent.decision_id,
    intent.membrane_id,
    // The one field that is the caller's free text: a JSON string, so that no character can end the field early.
    JSON.stringify(intent.agent_id),
    intent.key_id ?? "",
    intent.lineage_id ?? "",
    intent.mode,
    intent.verdict,
    intent.status,
    intent.escalation_id ?? "",
    `\\x${intent.fingerprint}`,
    intent.created_at,
    intent.created_at.slice(0, 7),
    once?.operation ?? "",
    once === null ? "" : whole(once.idempotency_key),
    once === null ? "" : `\\x${once.request_sha256}`,
    rows.override_id ?? "",
    whole(intent.intent),
    whole(intent.facts),
    whole(intent.decision),
  ]);
  const audit = rows.audit.map((each) => auditLine(each, intent.intent_id));
  const escalation = rows.escalation === null ? null : escalationLine(rows.escalation);
  const events = rows.events.map(eventLine);
  let size = row.length + (escalation?.length ?? 0);
  for (const each of audit) size += each.length;
  for (const each of events) size += each.length;
  const plain = once === null && rows.override_id === null && escalation === null && events.length === 0;
  return { row, audit, escalation, events, plain, size };
}

function auditLine(row: AuditRow, intent_id: string): string {
  if (row.intent_id !== intent_id) throw new TypeError(`${row.audit_id} is not about ${intent_id}`);
  return line([row.audit_id, row.type, whole(row.actor), row.at, `\\x${row.hash}`, whole(row.data)]);
}

function escalationLine(row: EscalationRow): string {
  return line([row.escalation_id, row.mode, row.status, row.expires_at, whole(row.record)]);
}

function eventLine(row: EventRow): string {
  return line([
    row.event_id,
    row.event_type,
    row.intent_id ?? "",
    row.decision_id ?? "",
    row.escalation_id ?? "",
    row.created_at,
    whole(row.body),
  ]);
}

function line(values: readonly (string | number)[]): string {
  let text = String(values[0]);
  for (let index = 1; index < values.length; index++) text += fieldEnd + values[index];
  return text;
}

/** A text that others had a say in, as a field: it must not end early. The other fields are ids and words of our own. */
function whole(text: string): string {
  if (text.includes(fieldEnd) || text.includes(lineEnd)) throw new TypeError("a field holds a control character");
  return text;
}

/** Which of the statements is to run, and its parameters. */
export interface CommitOrder {
  readonly statement: "full" | "plain";
  readonly values: readonly unknown[];
}

/** The order for a batch. `again` makes it look for intents that an earlier, lost attempt may have committed. */
export function orderOf(batch: readonly EncodedRows[], again: boolean): CommitOrder {
  const rows: string[] = [];
  const audit: string[] = [];
  const escalations: string[] = [];
  const events: string[] = [];
  batch.forEach((each, index) => {
    const n = `${index + 1}${fieldEnd}`;
    rows.push(each.row);
    for (const text of each.audit) audit.push(n + text);
    for (const text of each.events) events.push(n + text);
    if (each.escalation !== null) escalations.push(n + each.escalation);
  });
  const values = [rows.join(lineEnd), audit.join(lineEnd)];
  if (!again && batch.every((each) => each.plain)) return { statement: "plain", values };
  return { statement: "full", values: [...values, escalations.join(lineEnd), events.join(lineEnd), again] };
}

/** Lines of a parameter as rows, `line_number` from 1. OFFSET 0 keeps each line from being cut once per column. */
function lines(parameter: string, columns: readonly Column[]): string {
  const fields = columns.map(([name, type, nullable], index) => {
    const field = nullable === "null" ? `nullif(f[${index + 1}], '')` : `f[${index + 1}]`;
    return name === "agent_id" ? `(${field}::json #>> '{}') as agent_id` : `${field}::${type} as ${name}`;
  });
  return `select line_number, ${fields.join(", ")} from (
      select line_number, string_to_array(line, E'\\x1f') as f
      from string_to_table(${parameter}::text, E'\\x1e') with ordinality as l(line, line_number) offset 0) as cut`;
}

/** SQL for the row sets of parameter 1. */
export const rowLines: string = lines("$1", rowColumns);
/** SQL for the audit rows of parameter 2; `n` is the line of the row set they belong to. */
export const auditLines: string = lines("$2", auditColumns);
/** SQL for the escalations of parameter 3. */
export const escalationLines: string = lines("$3", escalationColumns);
/** SQL for the events of parameter 4. */
export const eventLines: string = lines("$4", eventColumns);
