import type { KeptBacktest, ListedBacktest } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useClient } from "../../api/session.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Who } from "../../parts/records/who.tsx";
import { useMembranes } from "../../parts/shadow-banner.tsx";
import { Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { Wide } from "../../parts/tables/scrolls.tsx";
import { ExactTime } from "../../parts/time.tsx";
import { textOf } from "../../policies/document-text.ts";
import { Result } from "./result.tsx";
import { candidateText } from "./words.ts";

export function KeptBacktestPage() {
  const { backtest_id } = useParams({ from: "/frame/backtests/$backtest_id" });
  const client = useClient();
  const query = useQuery({
    queryKey: ["backtests", "one", backtest_id],
    queryFn: () => client.getBacktest(backtest_id),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <PageHead title="Backtest" about={<span className="mono small">{backtest_id}</span>}>
        <Link to="/backtest" className="button">
          All backtests
        </Link>
      </PageHead>
      <Loaded query={query} what="the backtest">
        {(kept) => (
          <>
            <Tried kept={kept} />
            <Result result={kept.result} />
          </>
        )}
      </Loaded>
    </>
  );
}

function Tried({ kept: { input, created_at, created_by, expires_at } }: { readonly kept: KeptBacktest }) {
  const membranes = useMembranes();
  const { window, membrane_id, agent_id, limit } = input;
  const membrane = membranes.data?.find((each) => each.membrane_id === membrane_id)?.name ?? membrane_id;
  const policies = input.candidate?.policies ?? [];
  return (
    <section className="card stack tight" aria-label="What was tried">
      <dl className="pairs">
        <dt>Tried</dt>
        <dd>
          <Data text={candidateText(namesIn(input.candidate))} chars_max={500} />
        </dd>
        <dt>On actions</dt>
        <dd>
          <ExactTime at={window.from} />
          {" to "}
          <ExactTime at={window.to} />
          {membrane !== undefined && (
            <>
              {", membrane "}
              <Data text={membrane} chars_max={80} />
            </>
          )}
          {agent_id !== undefined && (
            <>
              {", agent "}
              <Data text={agent_id} chars_max={80} />
            </>
          )}
          {limit !== undefined && `, the newest ${limit.toLocaleString("en")}`}
        </dd>
        <dt>Run</dt>
        <dd>
          <ExactTime at={created_at} />
          {" by "}
          <Who id={created_by} />
          {", kept until "}
          <ExactTime at={expires_at} />
        </dd>
      </dl>
      {policies.map((policy) => (
        <Document key={nameOf(policy)} policy={policy} />
      ))}
    </section>
  );
}

function Document({ policy }: { readonly policy: Readonly<Record<string, unknown>> }) {
  return (
    <details>
      <summary>
        <Data text={nameOf(policy)} chars_max={80} more={false} />
      </summary>
      <Wide label={`Document of ${nameOf(policy)}`}>
        <pre className="json">
          <Data text={textOf(policy)} lines />
        </pre>
      </Wide>
    </details>
  );
}

/** The service has checked the documents. */
function nameOf(policy: Readonly<Record<string, unknown>>): string {
  return String((policy["metadata"] as { readonly name?: unknown } | undefined)?.name);
}

function namesIn(candidate: KeptBacktest["input"]["candidate"]): ListedBacktest["candidate"] {
  if (candidate === undefined) return null;
  const { policies = [], packs = null, thresholds = null, without = [] } = candidate;
  return { policies: policies.map(nameOf), packs, thresholds, without };
}
