import type { Overview } from "@countersign/contract";
import { HorizontalBars } from "./charts.tsx";
import { Data } from "./tables/data.tsx";

export function MissingFacts({ missing_facts: { facts, next_steps } }: Pick<Overview, "missing_facts">) {
  return (
    <>
      <HorizontalBars
        rows={facts.map(({ path, decisions, rules }) => ({
          key: path,
          count: decisions,
          label: (
            <>
              <Data text={path} chars_max={80} />{" "}
              <span className="muted">
                <Data text={rules.map(({ policy }) => policy).join(", ")} chars_max={120} />
              </span>
            </>
          ),
        }))}
      />
      <ul className="stack tight small">
        {next_steps.map((step) => (
          <li key={step}>
            <Data text={step} />
          </li>
        ))}
      </ul>
    </>
  );
}
