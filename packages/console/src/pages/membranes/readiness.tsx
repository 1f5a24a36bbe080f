import type { Membrane, MembraneReadiness, NotReady } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { useSeen } from "../../browser/seen.ts";
import { Badge } from "../../parts/records/badge.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { LabelHolds } from "./label-holds.tsx";
import { readinessKey } from "./readiness-key.ts";

export function useReadiness({ membrane_id }: Membrane, enabled: boolean) {
  const client = useClient();
  return useQuery({
    queryKey: readinessKey(membrane_id),
    enabled,
    queryFn: () => client.getMembraneReadiness(membrane_id),
    staleTime: 30_000,
  });
}

/** Whether a membrane in shadow may go live, and on what evidence. */
export function Readiness({ membrane }: { readonly membrane: Membrane }) {
  const [element, seen] = useSeen<HTMLDivElement>();
  const query = useReadiness(membrane, seen);
  return (
    <div className="stack tight" ref={element}>
      <Loaded query={query} what="the readiness">
        {(readiness) => (
          <>
            <h3 className="row">
              Ready to go live?
              <Badge
                text={readiness.verdict === "ready" ? "ready" : "not yet"}
                tone={readiness.verdict === "ready" ? "live" : "shadow"}
              />
            </h3>
            <Reasons not_ready={readiness.not_ready} />
            {readiness.evidence.decisions > 0 && readiness.evidence.complete && <Figures readiness={readiness} />}
            <LabelHolds readiness={readiness} />
          </>
        )}
      </Loaded>
    </div>
  );
}

export function Reasons({ not_ready }: { readonly not_ready: readonly NotReady[] }) {
  if (not_ready.length === 0) return null;
  return (
    <ul className="plain stack tight small">
      {not_ready.map(({ code, message, next_step }) => (
        <li key={`${code} ${message}`}>
          <Data text={message} /> <NextStep code={code} text={next_step} />
        </li>
      ))}
    </ul>
  );
}

/** Pages on which a reader does the next step. */
const pages: Partial<Record<NotReady["code"], "/keys" | "/webhooks" | "/people" | "/backtest">> = {
  unbound_keys: "/keys",
  admin_keys: "/keys",
  webhooks_failing: "/webhooks",
  nobody_can_decide: "/people",
  no_backtest: "/backtest",
};

/** The step without the operation that a program would call. */
function NextStep({ code, text }: { readonly code: NotReady["code"]; readonly text: string }) {
  const to = pages[code];
  const words = text.replace(/ \([A-Z]+ \/v1[^)]*\)/, "");
  return to === undefined ? <span className="muted">{words}</span> : <Link to={to}>{words}</Link>;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const rounded = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 1 });

function Figures({ readiness }: { readonly readiness: MembraneReadiness }) {
  const { evidence, passes, holds, blocks, reviews, false_holds, uncovered } = readiness;
  const perDay = ({ per_day, low, high }: MembraneReadiness["holds"]) =>
    `${rounded(per_day)} a day (${rounded(low)} to ${rounded(high)})`;
  return (
    <>
      <dl className="pairs">
        <dt>Evidence</dt>
        <dd>
          {`${evidence.decisions.toLocaleString("en")} ${evidence.decisions === 1 ? "decision" : "decisions"} on ${evidence.days} ${evidence.days === 1 ? "day" : "days"}`}
        </dd>
        {uncovered.tools.length > 0 && (
          <>
            <dt>Tools without evidence</dt>
            <dd>
              <Data text={uncovered.tools.join(", ")} chars_max={300} />
            </dd>
          </>
        )}
        {uncovered.agents.length > 0 && (
          <>
            <dt>Agents without evidence</dt>
            <dd>
              <Data text={uncovered.agents.join(", ")} chars_max={300} />
            </dd>
          </>
        )}
        <dt>Would pass</dt>
        <dd>{`${percent(passes.share)} (${percent(passes.low)} to ${percent(passes.high)})`}</dd>
        <dt>Would be held</dt>
        <dd>{perDay(holds)}</dd>
        <dt>Would be blocked</dt>
        <dd>{perDay(blocks)}</dd>
        <dt>Reviews</dt>
        <dd>
          {`${rounded(reviews.hours_per_day)} hours a day for ${reviews.people} ${reviews.people === 1 ? "person" : "people"}`}
          {reviews.median_seconds === null && (
            <span className="muted"> (at five minutes each: none was measured yet)</span>
          )}
        </dd>
        <dt>Wrong holds</dt>
        <dd>
          {false_holds.share_at_most === null
            ? "nobody labelled a hold yet"
            : `at most ${percent(false_holds.share_at_most)} (${false_holds.wrong} of ${false_holds.labelled} labelled)`}
        </dd>
      </dl>
      <p className="muted small">In brackets: where the true figure is, 95 % sure.</p>
    </>
  );
}
