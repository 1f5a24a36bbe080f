import { limits, type Policy } from "@countersign/contract";
import { useQueries, useQuery } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { SelectField } from "../../parts/forms/field.tsx";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import type { ScopeProps } from "./scope.ts";

/** Chooses policies. The backtest treats the newest version of each as active. */
export function CandidatePolicies({ scope: { policy_ids }, onScope }: ScopeProps) {
  const client = useClient();
  const all = useQuery({
    queryKey: ["policies", "all"],
    queryFn: async () => (await client.listPolicies({ limit: limits.list_limit_max })).policies,
  });
  // Read by their ids, because the list ends after 200 and may arrive later.
  const chosen = useQueries({
    queries: policy_ids.map((policy_id) => ({
      queryKey: ["policies", "one", policy_id],
      queryFn: () => client.getPolicy(policy_id),
    })),
  });
  const change = (ids: readonly string[]) => onScope({ policy_id: ids.join(",") });
  const others = (all.data ?? []).filter(
    ({ policy_id, status }) => status !== "retired" && !policy_ids.includes(policy_id),
  );
  const failed = chosen.find(({ error }) => error !== null);
  return (
    <div className="stack tight">
      {policy_ids.length > 0 && (
        <ul className="plain stack tight" aria-label="Policies to try">
          {policy_ids.map((policy_id, at) => (
            <li key={policy_id} className="row">
              <Data text={nameOf(chosen[at]?.data, policy_id)} />
              <button
                type="button"
                className="button small"
                onClick={() => change(policy_ids.filter((each) => each !== policy_id))}
              >
                Remove<span className="sr"> {chosen[at]?.data?.name ?? policy_id}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="filters">
        <SelectField
          label={policy_ids.length === 0 ? "Policies" : "More policies"}
          data-wide
          value=""
          onChange={(event) => change([...policy_ids, event.target.value])}
          options={[
            ["", policy_ids.length === 0 ? "As recorded" : "Add a policy"],
            ...others.map((policy) => [policy.policy_id, nameOf(policy, "")] as const),
          ]}
        />
      </div>
      {failed !== undefined && <Failed error={failed.error} retry={() => void failed.refetch()} />}
      {policy_ids.length > 0 && (
        <p className="small muted">
          As if their newest versions had been active instead of their versions at the time, beside all other rules.
        </p>
      )}
    </div>
  );
}

function nameOf(policy: Policy | undefined, policy_id: string): string {
  return policy === undefined ? policy_id : `${policy.name}, version ${policy.version}`;
}
