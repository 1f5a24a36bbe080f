import { limits } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { FilterField, SelectField } from "../../parts/forms/field.tsx";
import { MembraneFilter } from "../../parts/forms/filter-fields.tsx";
import { Failed } from "../../parts/states.tsx";
import { type Scope, type useScope, windows } from "./scope.ts";

export function BacktestForm({
  scope,
  onScope,
  running,
  onRun,
}: {
  readonly scope: Scope;
  readonly onScope: ReturnType<typeof useScope>[1];
  readonly running: boolean;
  readonly onRun: () => void;
}) {
  const { policy_id } = scope;
  const { options, chosen } = usePolicyOptions(policy_id);
  return (
    <form
      className="card stack"
      onSubmit={(event) => {
        event.preventDefault();
        onRun();
      }}
    >
      <div className="filters">
        <SelectField
          label="Rules"
          data-wide
          value={policy_id}
          onChange={(event) => onScope({ policy_id: event.target.value })}
          options={options}
        />
        <SelectField
          label="Actions of"
          value={scope.days}
          onChange={(event) => onScope({ days: event.target.value })}
          options={windows}
        />
        <MembraneFilter filter={scope.membrane_id} onFilter={(membrane_id) => onScope({ membrane_id })} />
        <FilterField
          label="Agent"
          maxLength={limits.agent_id_chars_max}
          filter={scope.agent_id}
          onFilter={(agent_id) => onScope({ agent_id })}
        />
        <button
          type="submit"
          className="button primary"
          disabled={running || (policy_id !== "" && chosen.data === undefined)}
        >
          {running ? "Deciding again …" : "Run"}
        </button>
      </div>
      {chosen.error !== null && <Failed error={chosen.error} retry={() => void chosen.refetch()} />}
      {policy_id !== "" && (
        <p className="small muted">
          As if the newest version of this policy had been active instead of its version at the time, beside all other
          rules.
        </p>
      )}
    </form>
  );
}

function usePolicyOptions(policy_id: string) {
  const client = useClient();
  const policies = useQuery({
    queryKey: ["policies", "all"],
    queryFn: async () => (await client.listPolicies({ limit: 200 })).policies,
  });
  // Read by its id, because the list ends after 200 and may arrive later.
  const chosen = useQuery({
    queryKey: ["policies", "one", policy_id],
    queryFn: () => client.getPolicy(policy_id),
    enabled: policy_id !== "",
  });
  const listed = (policies.data ?? []).map(
    ({ policy_id, name, version }) => [policy_id, `${name}, version ${version}`] as const,
  );
  const isListed = policy_id === "" || listed.some(([id]) => id === policy_id);
  const unlisted = chosen.data ? `${chosen.data.name}, version ${chosen.data.version}` : policy_id;
  const options = [
    ["", "As recorded (a check)"] as const,
    ...listed,
    ...(isListed ? [] : [[policy_id, unlisted] as const]),
  ];
  return { options, chosen };
}
