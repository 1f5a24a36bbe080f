import { verifyIn } from "../../packages/server/src/operations/audit/verify-organization.ts";
import type { Db } from "../../packages/server/src/ports.ts";
import { unexplained } from "../unexplained.ts";
import { hour_max } from "./cast.ts";
import { type LedgerRow, readStored, type StoredCounters } from "./ledger.ts";
import {
  CountersModel,
  counterNames,
  dayOf,
  demand,
  hour_us,
  type ModelEntry,
  microsOf,
  type Trusted,
} from "./model.ts";

/** The knowledge of the world of the organization between two checks. */
export interface CountersMemory {
  readonly trusted: Trusted;
  /** Submissions that were sent. Each may be decided once. */
  sent: number;
  /** Decisions that were answered. */
  readonly answered: Set<string>;
  /** Of the last check, by mode, name and key: the newest entry and all entries. */
  readonly seen: Map<string, { readonly newest: string | null; readonly entries: readonly string[] }>;
  /** The database's time when ended entries were deleted last. */
  deleted_us: number;
}

/** Throws InvariantBroken. */
export async function checkCounters(db: Db, org_id: string, memory: CountersMemory): Promise<void> {
  const stored = await readStored(db, org_id);
  const model = new CountersModel(memory.trusted);
  for (const row of stored.ledger) model.take(row);
  checkDecisions(stored, memory);
  checkEntries(stored, model, memory.deleted_us);
  checkHours(model);
  checkNewest(stored, memory);
  demand(stored.counter_keys === stored.newest.size, "the head counts another number of keys than there are");
}

export async function checkTrail(db: Db, org_id: string): Promise<void> {
  const wrong = unexplained(await db.tenant(org_id, (query) => verifyIn(query, org_id)));
  demand(wrong === null, `the audit trail is broken, or does not explain the tables: ${wrong}`);
}

function checkDecisions({ ledger }: StoredCounters, { sent, answered }: CountersMemory): void {
  const decided = new Set(ledger.flatMap(({ type, intent_id }) => (type === "decided" ? [intent_id] : [])));
  for (const intent_id of answered) demand(decided.has(intent_id), "an answered decision is lost");
  demand(decided.size <= sent, `${sent} submissions were decided ${decided.size} times`);
}

/** Stored entries may be missing only after their last window has ended. */
function checkEntries({ entries, ledger }: StoredCounters, model: CountersModel, deleted_us: number): void {
  const text = (intent_id: string, name: string, { mode, agent, at_us, micros, state }: ModelEntry) =>
    JSON.stringify([intent_id, name, mode, JSON.stringify([agent]), at_us, micros, state]);
  const wanted = new Set(
    [...model.entries].flatMap(([id, entry]) => counterNames.map((name) => text(id, name, entry))),
  );
  for (const { intent_id, name, mode, key, at_us, micros, state } of entries) {
    const found = JSON.stringify([intent_id, name, mode, key, at_us, micros, state]);
    const instead = JSON.stringify(model.entries.get(intent_id) ?? null);
    const history = historyOf(ledger, intent_id);
    demand(wanted.delete(found), `an entry is stored that must not be: ${found} instead of ${instead}: ${history}`);
  }
  for (const missing of wanted) {
    const [intent_id, name, , , at_us] = JSON.parse(missing) as [string, string, string, string, number];
    const kept_us = deleted_us - hour_us;
    const has_ended = name === "count.hour" ? at_us + hour_us <= kept_us : dayOf(at_us) < dayOf(kept_us);
    demand(has_ended, `an entry is missing: ${missing}: ${historyOf(ledger, intent_id)}`);
  }
}

/** Returns what happened to an action and to those of its review, for messages. */
function historyOf(ledger: readonly LedgerRow[], intent_id: string): string {
  const review = ledger.find((row) => row.intent_id === intent_id && row.type === "decided")?.escalation_id ?? null;
  const equal = new Set(
    ledger.flatMap((row) => (review !== null && row.escalation_id === review ? [row.intent_id] : [])),
  );
  const rows = ledger.filter((row) => row.intent_id === intent_id || equal.has(row.intent_id));
  const told = rows.map(({ type, intent_id: id, verdict, data, at_us, content, resolution }) => {
    const about = [verdict, data.outcome, data.status, data.resumed_from?.slice(-4), content?.amount];
    const changed = resolution?.modified_content?.amount;
    return [id?.slice(-4), type, ...about, changed && `changed to ${changed}`, at_us].filter(Boolean).join(" ");
  });
  return told.join("; ");
}

/** No hour of an agent has more than its limit, apart from what people let through. */
function checkHours({ entries, exempt }: CountersModel): void {
  const all = [...entries].filter(([id, { state }]) => !exempt.has(id) && !state.startsWith("failed"));
  for (const [, end] of all) {
    const sum = all.reduce((total, [, { agent, mode, at_us, micros }]) => {
      const is_within = at_us <= end.at_us && at_us > end.at_us - hour_us;
      return agent === end.agent && mode === end.mode && is_within ? total + micros : total;
    }, 0);
    demand(sum <= microsOf(hour_max), `${sum} in the hour before ${end.at_us}`);
  }
}

/** The newest entry of a key names its state: another state has another one. Ended entries may be deleted. */
function checkNewest({ newest, entries }: StoredCounters, memory: CountersMemory): void {
  const texts = new Map<string, string[]>();
  for (const { mode, name, key, ...entry } of entries) {
    const place = `${mode} ${name} ${key}`;
    texts.set(place, [...(texts.get(place) ?? []), JSON.stringify(entry)]);
  }
  for (const [place, name] of newest) {
    const now = texts.get(place) ?? [];
    const before = memory.seen.get(place);
    const is_same = before === undefined || now.every((entry) => before.entries.includes(entry));
    demand(is_same || name !== before.newest, "a key changed without a new entry");
    memory.seen.set(place, { newest: name, entries: now });
  }
}
