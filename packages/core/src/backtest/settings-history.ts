/** Reconstructs settings from the audit trail. */
import type { Membrane } from "@countersign/contract";

/**
 * A trail row that changed settings. It affects the epochs from `from_epoch` on: the policy epoch of the first later
 * decision, or else the current one.
 */
export interface SettingsChange {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly from_epoch: number;
}

export const settingsChangeTypes = [
  "membrane_created",
  "membrane_changed",
  "membrane_went_live",
  "membrane_returned_to_shadow",
  "policy_activated",
  "policy_retired",
] as const;

interface VersionInForce {
  readonly policy_id: string;
  readonly version: number;
  readonly mode: "live" | "shadow";
  readonly name: string;
}

export interface SettingsThen {
  /** The number of earlier changes. */
  readonly era: number;
  readonly membranes: ReadonlyMap<string, Membrane>;
  readonly policies: readonly VersionInForce[];
}

const eras_kept = 32;

/** Settings by policy epoch. Reads near the previous epoch are cheap. */
export class SettingsHistory {
  readonly policy_epoch: number;
  private readonly changes: readonly SettingsChange[];
  private readonly kept = new Map<number, SettingsThen>();

  /** `policy_epoch` is the current one. Later settings may be missing. */
  constructor(changes: readonly SettingsChange[], policy_epoch: number) {
    this.changes = changes;
    this.policy_epoch = policy_epoch;
  }

  at(policy_epoch: number): SettingsThen {
    const era = this.eraOf(policy_epoch);
    const known = this.kept.get(era);
    if (known !== undefined) return known;
    const made = this.replayed(era);
    if (this.kept.size >= eras_kept) this.kept.delete(this.kept.keys().next().value as number);
    this.kept.set(era, made);
    return made;
  }

  /** Returns the policies and packs that some epoch of this range had, both ends included. */
  everInForce(
    from_epoch: number,
    to_epoch: number,
  ): { readonly policies: readonly VersionInForce[]; readonly packs: ReadonlySet<string> } {
    const { membranes, policies } = this.at(from_epoch);
    const packs = new Set([...membranes.values()].flatMap((membrane) => membrane.packs));
    const all = [...policies];
    for (const { type, data } of this.changes.slice(this.eraOf(from_epoch), this.eraOf(to_epoch))) {
      if (type === "policy_activated") all.push(data as unknown as VersionInForce);
      const changed = type === "membrane_created" ? (data["membrane"] as Membrane) : (data as Partial<Membrane>);
      if (type.startsWith("membrane_")) for (const pack of changed.packs ?? []) packs.add(pack);
    }
    return { policies: all, packs };
  }

  /** Epochs never decrease along the trail. */
  private eraOf(policy_epoch: number): number {
    let low = 0;
    let high = this.changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.changes[middle] as SettingsChange).from_epoch <= policy_epoch) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private replayed(era: number): SettingsThen {
    const membranes = new Map<string, Membrane>();
    const policies = new Map<string, VersionInForce>();
    for (const { type, data } of this.changes.slice(0, era)) {
      if (type === "membrane_created") {
        const membrane = data["membrane"] as Membrane;
        membranes.set(membrane.membrane_id, membrane);
      } else if (type === "membrane_changed") {
        const {
          membrane_id,
          state: _,
          ...change
        } = data as Partial<Membrane> & { membrane_id: string; state?: unknown };
        const before = membranes.get(membrane_id);
        if (before !== undefined) membranes.set(membrane_id, { ...before, ...change });
      } else if (type === "policy_activated") {
        const { policy_id, version, mode, name } = data as unknown as VersionInForce;
        policies.set(policy_id, { policy_id, version, mode, name });
      } else if (type === "policy_retired") policies.delete(data["policy_id"] as string);
    }
    const byId = [...policies.values()].sort((a, b) => (a.policy_id < b.policy_id ? -1 : 1));
    return { era, membranes, policies: byId };
  }
}
