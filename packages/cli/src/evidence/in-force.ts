/** Works out from audit records which policies were in force in a period, and how membranes were set. */
import type { AuditType, OrgAuditRecord } from "@countersign/contract";
import { type MembraneInForce, type PolicyInForce, policyName } from "./layout.ts";

/** The types of records that say so. */
export const policyTypes = ["policy_activated", "policy_retired"] as const satisfies readonly AuditType[];
export const membraneTypes = [
  "state_recorded",
  "membrane_created",
  "membrane_changed",
  "membrane_went_live",
  "membrane_returned_to_shadow",
] as const satisfies readonly AuditType[];

interface Period {
  readonly from: string;
  readonly to: string;
}

/** A state that holds from a record until the next one of the same subject. `state` null: the subject is not in force. */
interface Step<State> {
  readonly id: string;
  readonly at: string;
  readonly state: State | null;
}

type Held<State> = State & { readonly from: string; readonly until: string | null };

/** Returns the states that held at some time in the period, in the order of their beginnings. Times are RFC 3339 UTC. */
function heldIn<State extends object>(steps: readonly Step<State>[], { from, to }: Period): Held<State>[] {
  const [from_ms, to_ms] = [Date.parse(from), Date.parse(to)];
  const ends = new Map<string, string>();
  const held = [...steps].reverse().flatMap(({ id, at, state }) => {
    const until = ends.get(id) ?? null;
    ends.set(id, at);
    const overlaps = Date.parse(at) < to_ms && (until === null || Date.parse(until) > from_ms);
    return state !== null && overlaps ? [{ ...state, from: at, until }] : [];
  });
  return held.reverse();
}

const inOrder = (records: readonly OrgAuditRecord[]) => [...records].sort((a, b) => a.seq - b.seq);

/** `records` are all of `policyTypes` since the beginning. */
export function policiesIn(records: readonly OrgAuditRecord[], period: Period): PolicyInForce[] {
  const steps = inOrder(records).map(({ type, at, seq, actor, data }): Step<Omit<PolicyInForce, "from" | "until">> => {
    const { policy_id, version, name, mode, sha256 } = data as unknown as PolicyInForce;
    const file = policyName(policy_id, version);
    const state = { policy_id, version, name, mode, sha256, seq, activated_by: actor.id, file };
    return { id: policy_id, at, state: type === "policy_activated" ? state : null };
  });
  return heldIn(steps, period);
}

/** `records` are all of `membraneTypes` since the beginning. */
export function membranesIn(records: readonly OrgAuditRecord[], period: Period): MembraneInForce[] {
  const steps = inOrder(records).flatMap(({ at, seq, data }) =>
    rowsIn(data).flatMap(({ table, id, row }): Step<Omit<MembraneInForce, "from" | "until">>[] => {
      if (table !== "membranes") return [];
      const state = row === null ? null : { membrane_id: id, seq, ...settingsOf(row) };
      return [{ id, at, state }];
    }),
  );
  return heldIn(steps, period);
}

interface Row {
  readonly table: string;
  readonly id: string;
  readonly row: Readonly<Record<string, unknown>> | null;
}

/** `data.state` has the rows as the change left them (docs/decisions/0066-state-from-the-ledger.md). */
function rowsIn({ state }: OrgAuditRecord["data"]): readonly Row[] {
  return Array.isArray(state) ? (state as Row[]) : [];
}

function settingsOf({
  name,
  status,
  packs,
}: NonNullable<Row["row"]>): Pick<MembraneInForce, "name" | "status" | "packs"> {
  return { name: String(name), status: String(status), packs: Array.isArray(packs) ? packs.map(String) : [] };
}
