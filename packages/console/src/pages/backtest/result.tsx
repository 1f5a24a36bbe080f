import { type Backtest, notReproducedBecause } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { Figure } from "../../parts/figure.tsx";
import { Empty } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";
import { spanText } from "../../parts/time.tsx";
import { FlipGroups } from "./flip-groups.tsx";
import { Flips, Matrix } from "./verdict-changes.tsx";
import { percent, rulingsText } from "./words.ts";

export function Result({ result }: { readonly result: Backtest }) {
  if (result.evaluated === 0)
    return (
      <section className="card">
        <Empty title="Nothing was recorded in this time">
          <p>Choose a longer time, or let agents submit actions first.</p>
        </Empty>
      </section>
    );
  return (
    <>
      <Figures result={result} />
      <section className="card stack tight">
        <h2>How the verdicts change</h2>
        <p className="small muted">
          A row for each recorded verdict. A column for the verdict under the rules that you try.
        </p>
        <Matrix result={result} />
      </section>
      {result.not_reproduced.total > 0 && <NotReproduced not_reproduced={result.not_reproduced} />}
      {result.flip_groups.length > 0 && (
        <section className="card stack tight">
          <h2>Changes by rule</h2>
          <FlipGroups groups={result.flip_groups} />
        </section>
      )}
      <section className="card stack tight">
        <h2>Changed verdicts</h2>
        <Flips flips={result.flips} total={result.flips_total} />
      </section>
      <div className="grid-2">
        <section className="card stack tight">
          <h2>By rule</h2>
          <RuleTable rules={result.per_policy} />
        </section>
        <section className="card stack tight">
          <h2>Facts that were unknown</h2>
          <UnknownFacts facts={result.unknown_facts} />
        </section>
      </div>
    </>
  );
}

function Figures({ result }: { readonly result: Backtest }) {
  return (
    <div className="figures">
      <Figure
        name="Decided again"
        value={result.evaluated.toLocaleString("en")}
        about={`in ${spanText(result.elapsed_ms / 1000)}`}
      />
      <Figure
        name="Same verdict"
        value={percent(result.reproduced ?? 1 - result.flips_total / result.evaluated)}
        about={`${result.flips_total.toLocaleString("en")} would change`}
      />
      <Figure
        name="Reviews a day"
        value={result.escalations_per_day.candidate.toFixed(1)}
        about={`recorded ${result.escalations_per_day.recorded.toFixed(1)}`}
      />
      <Figure
        name="Agrees with reviewers"
        value={result.human_agreement === null ? "–" : percent(result.human_agreement)}
        about={rulingsText(result.agrees_with_reviewers)}
      />
    </div>
  );
}

function NotReproduced({
  not_reproduced: { total, intents },
}: {
  readonly not_reproduced: Backtest["not_reproduced"];
}) {
  return (
    <section className="card stack tight">
      <h2>{`${total.toLocaleString("en")} could not be replayed as recorded`}</h2>
      <ul className="plain stack tight small">
        {intents.slice(0, 20).map((each) => (
          <li key={each.intent_id}>
            <Link className="mono" to="/decisions/$intent_id" params={{ intent_id: each.intent_id }}>
              {each.intent_id}
            </Link>{" "}
            <span className="muted">{notReproducedBecause[each.because]}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function RuleTable({ rules }: { readonly rules: Backtest["per_policy"] }) {
  return (
    <ListTable
      heads={["Rule", "Fired", "Decisive", "Fact unknown"]}
      numbers={3}
      caption="How often each rule fired, decided, and did not know a fact"
    >
      {rules.slice(0, 50).map((each) => (
        <tr key={each.policy}>
          <td>
            <Data text={each.policy} />
          </td>
          <td className="num">{each.fired.toLocaleString("en")}</td>
          <td className="num">{each.decisive.toLocaleString("en")}</td>
          <td className="num">{each.unknown.toLocaleString("en")}</td>
        </tr>
      ))}
    </ListTable>
  );
}

function UnknownFacts({ facts }: { readonly facts: Backtest["unknown_facts"] }) {
  return (
    <>
      {facts.length === 0 && <p className="muted">None.</p>}
      <ul className="plain stack tight small">
        {facts.slice(0, 30).map((each) => (
          <li key={`${each.path} ${each.assurance}`} className="row between">
            <span>
              <span className="mono">
                <Data text={each.path} />
              </span>
              {each.assurance !== undefined && <span className="muted"> only {each.assurance}</span>}
              <span className="muted">
                {", for "}
                <Data text={each.policies.join(", ")} chars_max={120} />
              </span>
            </span>
            {each.count.toLocaleString("en")}
          </li>
        ))}
      </ul>
    </>
  );
}
