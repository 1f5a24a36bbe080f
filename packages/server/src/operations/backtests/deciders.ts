import type { NotReproducedBecause } from "@countersign/contract";
import {
  compilePolicySet,
  type MembraneSettings,
  membraneWith,
  type PolicyDocument,
  type PolicySet,
  type PolicySource,
  SettingsHistory,
  type SettingsThen,
  SharedPolicies,
  sourcesWith,
  withoutValues,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import { readSettings, readVersions, versionKey } from "../../store/backtests/backtests.ts";
import type { BacktestJob } from "../shared/node-services.ts";
import { type ReadInputs, type ReadRecord, recordedOf } from "./read-records.ts";
import type { ReplayNeeds } from "./replay-needs.ts";

const sets_kept = 64;
const documents_kept = 2_000;

interface Able {
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
}
export interface Unable {
  readonly missing: NotReproducedBecause;
}
type Decider = Able | Unable;

/** Gives each recorded decision the policies and settings of its time, changed by the candidate. */
export class Deciders {
  private readonly byEra = new LRUCache<string, Decider>({ max: 1_000 });
  private readonly shared = new SharedPolicies();
  private readonly sets = new LRUCache<string, PolicySet>({ max: sets_kept });
  private readonly documents = new LRUCache<string, PolicyDocument>({ max: documents_kept });
  private readonly needs: ReplayNeeds;
  private readonly job: BacktestJob;
  private history = new SettingsHistory([], -1);
  /** The last result, because neighbours in time usually share it. */
  private last: { readonly policy_epoch: number; readonly membrane_id: string; readonly decider: Decider } | null =
    null;

  constructor(needs: ReplayNeeds, job: BacktestJob) {
    this.needs = needs;
    this.job = job;
  }

  async prepare(records: readonly ReadRecord[]): Promise<void> {
    let before: ReadRecord | null = null;
    for (const record of records) {
      const { row, end } = record;
      if (end === null) continue;
      if (before?.end?.policy_epoch === end.policy_epoch && before.row.membrane_id === row.membrane_id) continue;
      before = record;
      const then = (await this.historyUntil(end.policy_epoch)).at(end.policy_epoch);
      const key = `${then.era} ${row.membrane_id}`;
      if (!this.byEra.has(key)) this.byEra.set(key, await this.make(then, row.membrane_id));
    }
  }

  /** Returns the settings of all epochs up to this one. */
  async historyUntil(policy_epoch: number): Promise<SettingsHistory> {
    if (policy_epoch > this.history.policy_epoch) await this.readHistory();
    return this.history;
  }

  /** Read again for decisions made during the backtest. Eras keep their numbers. */
  private async readHistory(): Promise<void> {
    const { changes, policy_epoch } = await this.needs.read((query) => readSettings(query, this.job.org_id));
    this.history = new SettingsHistory(changes, policy_epoch);
    this.last = null;
  }

  of(membrane_id: string, policy_epoch: number): Decider {
    const { last } = this;
    if (last?.policy_epoch === policy_epoch && last.membrane_id === membrane_id) return last.decider;
    const { era } = this.history.at(policy_epoch);
    const decider = this.byEra.get(`${era} ${membrane_id}`) ?? { missing: "membrane_unknown" };
    this.last = { policy_epoch, membrane_id, decider };
    return decider;
  }

  private async make(then: SettingsThen, membrane_id: string): Promise<Decider> {
    const { candidate } = this.job;
    const membrane = then.membranes.get(membrane_id);
    if (membrane === undefined) return { missing: "membrane_unknown" };
    const key = [
      ...[...membrane.packs].sort(),
      ...[...(membrane.rules_off ?? [])].sort().map((rule) => `-${rule}`),
      ...then.policies.map((each) => `${versionKey(each)}:${each.mode}`),
    ].join(" ");
    let policySet = this.sets.get(key);
    if (policySet === undefined) {
      const own = await this.ownOf(then);
      if (own === null) return { missing: "policy_unknown" };
      const policies = sourcesWith(this.needs.packs, membrane, own, candidate);
      policySet = compilePolicySet({ policies, version: 1, shared: this.shared });
      this.sets.set(key, policySet);
    }
    return { policySet, membrane: membraneWith(membrane, candidate) };
  }

  private async ownOf({ policies }: SettingsThen): Promise<PolicySource[] | null> {
    const found = new Map<string, PolicyDocument>();
    for (const each of policies) {
      const document = this.documents.get(versionKey(each));
      if (document !== undefined) found.set(versionKey(each), document);
    }
    const unread = policies.filter((each) => !found.has(versionKey(each)));
    if (unread.length > 0) {
      const read = await this.needs.read((query) => readVersions(query, this.job.org_id, unread));
      for (const [key, document] of read) {
        found.set(key, document);
        this.documents.set(key, document);
      }
    }
    if (policies.some((each) => !found.has(versionKey(each)))) return null;
    return policies.map(({ name: _, ...policy }) => ({
      ...policy,
      document: found.get(versionKey(policy)) as PolicyDocument,
    }));
  }
}

export interface Readable extends ReadInputs {
  readonly decider: Able;
}

/** Returns the inputs of a decision, and what decides it now. */
export function readable(
  deciders: Deciders,
  { row, end, lifts }: ReadRecord,
  { values }: Pick<BacktestJob, "values">,
): Readable | Unable {
  if (row.is_erased) return { missing: "erased" };
  if (end === null) return { missing: "record_unreadable" };
  const decider = deciders.of(row.membrane_id, end.policy_epoch);
  if ("missing" in decider) return decider;
  const inputs = recordedOf(row, lifts === "unknown" ? null : lifts);
  if (inputs === null) return { missing: "record_unreadable" };
  const { recorded } = inputs;
  return { ...inputs, recorded: values ? recorded : { ...recorded, facts: withoutValues(recorded.facts) }, decider };
}

/** Returns why an intent that is readable cannot be decided again; null: it can. */
export function hindrance(
  { end, lifts }: ReadRecord,
  { decider }: Readable,
  { candidate }: Pick<BacktestJob, "candidate">,
): NotReproducedBecause | null {
  if (lifts === "unknown") return "override_unknown";
  // A candidate replaces the recorded set, so that set need not match exactly.
  return candidate === null && decider.policySet.sha256 !== end?.sha256 ? "packs_changed" : null;
}
