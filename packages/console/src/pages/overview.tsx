import type { Overview, PipelineMode } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient, useReads, useSession } from "../api/session.tsx";
import { beginOf } from "../browser/clock.ts";
import { SelectField } from "../parts/forms/field.tsx";
import { MembraneFilter, ModeFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import { Empty, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useFilters } from "../shell/filters.ts";
import { Figures } from "./overview/figures.tsx";
import { KeyWarnings } from "./overview/key-warnings.tsx";

const spans = { hours: 6, day: 24, week: 24 * 7, month: 24 * 31 } as const;

export function OverviewPage() {
  const reads = useReads();
  const { caller } = useSession();
  if (reads) return <Counts />;
  return (
    <>
      <PageHead title="Overview" />
      <section className="card">
        <Empty title={`A key of role ${caller?.role} sees only its own decisions`}>
          <Link to="/decisions">Decisions of this key</Link>
        </Empty>
      </section>
    </>
  );
}

function Counts() {
  const client = useClient();
  const [filters, setFilters] = useFilters(["span", "mode", "membrane_id"]);
  // The address may contain any text.
  const span = Object.hasOwn(spans, filters.span ?? "") ? (filters.span as keyof typeof spans) : "day";
  const hours = spans[span];
  const query = useQuery({
    queryKey: ["overview", hours, filters.mode, filters.membrane_id],
    queryFn: () =>
      client.getOverview({
        from: beginOf(hours * 3_600_000),
        ...(filters.mode ? { mode: filters.mode as PipelineMode } : {}),
        ...(filters.membrane_id ? { membrane_id: filters.membrane_id } : {}),
      }),
    refetchInterval: 20_000,
    placeholderData: (before) => before,
  });
  return (
    <>
      <PageHead title="Overview" about="Actions that agents submitted, and their outcomes." />
      <ShadowBanner where="overview" />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="Time"
          value={span}
          onChange={(event) => setFilters({ span: event.target.value === "day" ? "" : event.target.value })}
          options={[
            ["hours", "Last 6 hours"],
            ["day", "Last 24 hours"],
            ["week", "Last 7 days"],
            ["month", "Last 31 days"],
          ]}
        />
        <ModeFilter filter={filters.mode} onFilter={(mode) => setFilters({ mode })} />
        <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => setFilters({ membrane_id })} />
      </form>
      <Loaded query={query} what="the overview">
        {(overview) => (
          <>
            <NobodyCanDecide rules={overview.nobody_can_decide} />
            <KeyWarnings keys={overview.keys} />
            <Figures overview={overview} />
          </>
        )}
      </Loaded>
    </>
  );
}

function NobodyCanDecide({ rules }: { readonly rules: Overview["nobody_can_decide"] }) {
  if (rules.length === 0) return null;
  return (
    <div className="banner bad" role="status">
      <div>
        <strong>Nobody can decide the actions of these rules</strong>
        <ul>
          {rules.map(({ policy_id, policy, membrane, message }) => (
            <li key={`${policy_id} ${membrane}`}>
              {policy_id === null ? (
                message
              ) : (
                <>
                  <Link to="/policies/$policy_id" params={{ policy_id }}>
                    <Data text={policy} />
                  </Link>
                  {": "}
                  {message}
                </>
              )}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
