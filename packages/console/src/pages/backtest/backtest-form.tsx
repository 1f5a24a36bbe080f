import { limits } from "@countersign/contract";
import { FilterField, SelectField } from "../../parts/forms/field.tsx";
import { MembraneFilter } from "../../parts/forms/filter-fields.tsx";
import { CandidatePacks } from "./candidate-packs.tsx";
import { CandidatePolicies } from "./candidate-policies.tsx";
import { type ScopeProps, thresholdIn, windows } from "./scope.ts";

export function BacktestForm({
  scope,
  onScope,
  running,
  onRun,
}: ScopeProps & { readonly running: boolean; readonly onRun: () => void }) {
  return (
    <form
      className="card stack"
      aria-label="New backtest"
      onSubmit={(event) => {
        event.preventDefault();
        onRun();
      }}
    >
      <h2>What to try</h2>
      <CandidatePolicies scope={scope} onScope={onScope} />
      <CandidatePacks scope={scope} onScope={onScope} />
      <div className="filters">
        <ThresholdField label="Escalate at risk" name="escalate_at" scope={scope} onScope={onScope} />
        <ThresholdField label="Block at risk" name="block_at" scope={scope} onScope={onScope} />
      </div>
      <p className="small muted">
        From 0 to 1, or “none”. An empty field, like everything that you do not change, stays as it was at each
        decision.
      </p>
      <h2>On which actions</h2>
      <div className="filters">
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
        <button type="submit" className="button primary" disabled={running}>
          {running ? "Deciding again …" : "Run"}
        </button>
      </div>
    </form>
  );
}

function ThresholdField({
  label,
  name,
  scope,
  onScope,
}: ScopeProps & { readonly label: string; readonly name: "escalate_at" | "block_at" }) {
  const text = scope[name];
  const wrong = text !== undefined && thresholdIn(text) === undefined;
  return (
    <FilterField
      label={label}
      maxLength={10}
      filter={text}
      onFilter={(given) => onScope({ [name]: given })}
      wrong={wrong ? "Write a number from 0 to 1, or none. This one is ignored." : null}
    />
  );
}
