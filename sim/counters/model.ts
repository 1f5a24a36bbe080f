/** Computes the right counters from the ledger in the simplest way, without windows that are kept up to date. */
import { InvariantBroken } from "../invariants.ts";
import { day_max, hour_max } from "./cast.ts";
import type { LedgerRow, Reading } from "./ledger.ts";

export interface ModelEntry {
  readonly agent: string;
  readonly mode: string;
  readonly at_us: number;
  readonly micros: number;
  readonly state: "approve" | "approve_modified" | "pending" | "failed" | "failed_modified";
}

export const hour_us = 3_600_000_000;
const micros_per_unit = 1_000_000;

export const microsOf = (amount: number): number => Math.round(amount * micros_per_unit);

const day_format = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Berlin", dateStyle: "short" });
const days = new Map<number, string>();

/** Returns the date in Berlin. */
export function dayOf(at_us: number): string {
  const minute = Math.floor(at_us / 60_000_000);
  const known = days.get(minute);
  if (known !== undefined) return known;
  const day = day_format.format(minute * 60_000);
  days.set(minute, day);
  return day;
}

const countedStates = {
  "count.hour": ["approve", "approve_modified", "pending"],
  "count.day": ["approve", "failed"],
} as const satisfies Record<string, readonly ModelEntry["state"][]>;

export type CounterName = keyof typeof countedStates;
export const counterNames = Object.keys(countedStates) as CounterName[];

/** `hosts`: keys whose reports count if they hold the claim. `operators`: keys whose reports always count. */
export interface Trusted {
  readonly hosts: ReadonlySet<string>;
  readonly operators: ReadonlySet<string>;
}

/** Replays the ledger. Throws InvariantBroken. */
export class CountersModel {
  /** By intent_id. */
  readonly entries = new Map<string, ModelEntry>();
  /** Actions that people let through above the limit, or that were carried out although a report had released them. */
  readonly exempt = new Set<string>();
  readonly #trusted: Trusted;
  readonly #decided = new Map<string, LedgerRow>();
  /** By escalation_id: the action that opened the review. */
  readonly #openers = new Map<string, string>();
  /** By escalation_id: the only action that may use the approval. */
  readonly #holders = new Map<string, string>();
  readonly #spent = new Set<string>();
  /** By intent_id. */
  readonly #claimers = new Map<string, string>();

  constructor(trusted: Trusted) {
    this.#trusted = trusted;
  }

  take(row: LedgerRow): void {
    const { type, data, at_us } = row;
    const intent_id = row.intent_id ?? "";
    if (type === "decided") this.#decide(row, intent_id);
    else if (type === "reviewed" || type === "timed_out") this.#close(intent_id, data.outcome ?? "", at_us);
    else if (type === "cancelled") this.entries.delete(intent_id);
    else if (type === "approval_revoked") this.entries.delete(this.#holderOf(data.escalation_id ?? ""));
    else if (type === "approval_handed_on") this.#handOn(data.escalation_id ?? "", data.handed_to ?? "");
    else if (type === "claimed") this.#claim(row, intent_id);
    else if (type === "observed") this.#observe(row, intent_id);
  }

  /** Returns what earlier actions add up to. */
  reading(name: CounterName, { agent, mode }: Pick<ModelEntry, "agent" | "mode">, now_us: number, except = "") {
    const counted = [...this.entries].filter(([intent_id, entry]) => {
      if (intent_id === except || entry.agent !== agent || entry.mode !== mode) return false;
      if (!(countedStates[name] as readonly string[]).includes(entry.state)) return false;
      return name === "count.hour" ? entry.at_us > now_us - hour_us : dayOf(entry.at_us) >= dayOf(now_us);
    });
    return {
      n: counted.length,
      micros: counted.reduce((sum, [, { micros }]) => sum + micros, 0),
      counted,
      last_us: counted.length === 0 ? null : Math.max(...counted.map(([, { at_us }]) => at_us)),
    };
  }

  #decide(row: LedgerRow, intent_id: string): void {
    const { verdict, escalation_id, override_id, data, at_us, mode, agent_id, content } = row;
    this.#decided.set(intent_id, row);
    const owner = { agent: agent_id ?? "", mode: mode ?? "" };
    const submitted = microsOf(content?.amount ?? 0);
    const is_joined = escalation_id !== null && this.#openers.has(escalation_id);
    // An action in the place of an equal one may have been decided without the entries of that one.
    const instead_of = is_joined || data.resumed_from !== undefined ? this.#holderOf(escalation_id ?? "") : "";
    for (const name of counterNames) this.#demandReading(row, name, owner, instead_of);
    const before = this.reading("count.hour", owner, at_us).micros;
    if (verdict === "block") {
      demand(before + submitted > limitOf(hour_max), `a block of ${submitted} although ${before} were counted`);
      return;
    }
    if (data.resumed_from !== undefined) return;
    if (is_joined) return;
    if (escalation_id !== null) this.#openers.set(escalation_id, intent_id);
    const micros = microsOf((data.modified_content ?? content)?.amount ?? 0);
    const state = verdict === "escalate" ? "pending" : (verdict as "approve" | "approve_modified");
    if (override_id === null) {
      demand(before + submitted <= limitOf(hour_max), `${verdict} of ${submitted} although ${before} were counted`);
      const today = this.reading("count.day", owner, at_us).micros;
      demand(
        verdict === "escalate" || today + submitted <= limitOf(day_max),
        `approved without people above the day's limit`,
      );
    } else this.exempt.add(intent_id);
    this.entries.set(intent_id, { ...owner, at_us, micros, state });
  }

  #demandReading(
    { counts, at_us }: LedgerRow,
    name: CounterName,
    owner: { readonly agent: string; readonly mode: string },
    instead_of: string,
  ): void {
    const read: Reading | undefined = counts?.[name]?.[JSON.stringify([owner.agent])];
    if (read === undefined) throw new InvariantBroken(`a decision did not read ${name}`);
    const is_right = ["", instead_of].some((except) => {
      const { n, micros, last_us } = this.reading(name, owner, at_us, except);
      return read.n === n && read.micros === micros && (read.last?.at_us ?? null) === last_us;
    });
    const is_known = read.last === null || this.#decided.has(read.last.intent_id);
    const shown = JSON.stringify({ read, counted: this.reading(name, owner, at_us).counted, is_known });
    demand(is_right, `a decision read ${name} as it was not: ${shown}`);
  }

  /** The review of an action has ended. People and time limits may pass the day's limit, but not the hour's. */
  #close(intent_id: string, outcome: string, at_us: number): void {
    const entry = this.entries.get(intent_id);
    if (entry === undefined) throw new InvariantBroken("a review of an action that does not count");
    if (outcome === "block") return void this.entries.delete(intent_id);
    const { resolution, content } = this.#decided.get(intent_id) as LedgerRow;
    const micros = microsOf((resolution?.modified_content ?? content)?.amount ?? 0);
    const before = this.reading("count.hour", entry, at_us, intent_id).micros;
    demand(before + micros <= limitOf(hour_max), `a review approved ${micros} although ${before} were counted`);
    this.entries.set(intent_id, { ...entry, at_us, micros, state: outcome as "approve" | "approve_modified" });
  }

  #holderOf(escalation_id: string): string {
    return this.#holders.get(escalation_id) ?? this.#openers.get(escalation_id) ?? "";
  }

  /** An action that needs no claim spends the approval at once. */
  #handOn(escalation_id: string, intent_id: string): void {
    this.#hold(escalation_id, intent_id, this.#decided.get(intent_id)?.data.claim !== "required");
  }

  /** The action that uses an approval counts, and the one that lost it does not. */
  #hold(escalation_id: string, intent_id: string, spent: boolean): void {
    const from = this.#holderOf(escalation_id);
    const entry = this.entries.get(from);
    // While the review is open, its first action counts.
    const is_open = entry?.state === "pending";
    this.#holders.set(escalation_id, intent_id);
    if (spent) this.#spent.add(escalation_id);
    if (entry === undefined || from === intent_id || is_open) return;
    this.entries.delete(from);
    this.entries.set(intent_id, entry);
    if (this.exempt.has(from)) this.exempt.add(intent_id);
    this.#countAgain(intent_id);
  }

  /** An action that was reported as failed or skipped may be carried out after all. Then it counts, above any limit. */
  #countAgain(intent_id: string): void {
    const entry = this.entries.get(intent_id);
    const state = entry === undefined ? undefined : reported(entry.state, true);
    if (entry === undefined || state === undefined) return;
    this.entries.set(intent_id, { ...entry, state });
    this.exempt.add(intent_id);
  }

  #claim({ actor }: LedgerRow, intent_id: string): void {
    this.#claimers.set(intent_id, actor);
    const escalation_id = this.#decided.get(intent_id)?.escalation_id ?? null;
    if (escalation_id !== null) this.#hold(escalation_id, intent_id, true);
    this.#countAgain(intent_id);
  }

  #observe({ actor, data: { status } }: LedgerRow, intent_id: string): void {
    const escalation_id = this.#decided.get(intent_id)?.escalation_id ?? null;
    if (status !== "skipped" && escalation_id !== null && !this.#spent.has(escalation_id))
      this.#hold(escalation_id, intent_id, true);
    const { operators, hosts } = this.#trusted;
    if (!operators.has(actor) && !(hosts.has(actor) && this.#claimers.get(intent_id) === actor)) return;
    if (status === "executed") {
      this.#countAgain(intent_id);
      return;
    }
    const entry = this.entries.get(intent_id);
    const state = entry === undefined ? undefined : reported(entry.state, false);
    if (entry !== undefined && state !== undefined) this.entries.set(intent_id, { ...entry, state });
  }
}

/** Returns the state after a trusted report; undefined: it changes nothing. */
function reported(state: ModelEntry["state"], executed: boolean): ModelEntry["state"] | undefined {
  const changes: Partial<Record<ModelEntry["state"], ModelEntry["state"]>> = executed
    ? { failed: "approve", failed_modified: "approve_modified" }
    : { approve: "failed", approve_modified: "failed_modified" };
  return changes[state];
}

const limitOf = (amount: number): number => amount * micros_per_unit;

export function demand(holds: boolean, message: string): void {
  if (!holds) throw new InvariantBroken(message);
}
