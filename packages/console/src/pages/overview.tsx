import type { PipelineMode } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient, useReads, useSession } from "../api/session.tsx";
import { beginOf } from "../browser/clock.ts";
import { SelectField } from "../parts/forms/field.tsx";
import { asTime, MembraneFilter, ModeFilter, TimeFilter } from "../parts/forms/filter-fields.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ShadowBanner } from "../parts/shadow-banner.tsx";
import { Empty, Loaded } from "../parts/states.tsx";
import { useFilters } from "../shell/filters.ts";
import { Attention } from "./overview/attention.tsx";
import { Figures } from "./overview/figures.tsx";
import { Totals } from "./overview/totals.tsx";

const spans = { hours: 6, day: 24, week: 24 * 7, month: 24 * 31 } as const;

const spanWords = { hours: "6 hours", day: "24 hours", week: "7 days", month: "31 days" } as const;

/** Returns the filters of a choice. A period begins as the last 24 hours, which the reader then changes. */
function periodOf(choice: string) {
  if (choice === "period") return { from: beginOf(86_400_000), to: "" };
  return { span: choice === "day" ? "" : choice, from: "", to: "" };
}

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
  const [filters, setFilters] = useFilters(["span", "mode", "membrane_id", "from", "to"]);
  // The address may contain any text.
  const span = Object.hasOwn(spans, filters.span ?? "") ? (filters.span as keyof typeof spans) : "day";
  const hours = spans[span];
  const [from, to] = [asTime(filters.from), asTime(filters.to)];
  const query = useQuery({
    queryKey: ["overview", hours, from, to, filters.mode, filters.membrane_id],
    queryFn: () =>
      client.getOverview({
        from: from ?? beginOf(hours * 3_600_000),
        ...(from === undefined || to === undefined ? {} : { to }),
        ...(filters.mode ? { mode: filters.mode as PipelineMode } : {}),
        ...(filters.membrane_id ? { membrane_id: filters.membrane_id } : {}),
      }),
    refetchInterval: 20_000,
    placeholderData: (before) => before,
  });
  return (
    <>
      <PageHead
        title="Overview"
        about={`Compared with the ${from === undefined ? spanWords[span] : "period of the same length"} before. Times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`}
      />
      <ShadowBanner where="overview" />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <SelectField
          label="Time"
          value={from === undefined ? span : "period"}
          onChange={({ target: { value } }) => setFilters(periodOf(value))}
          options={[
            ["hours", "Last 6 hours"],
            ["day", "Last 24 hours"],
            ["week", "Last 7 days"],
            ["month", "Last 31 days"],
            ["period", "A period"],
          ]}
        />
        {from !== undefined && (
          <>
            <TimeFilter label="From" filter={filters.from} onFilter={(from) => setFilters({ from })} />
            <TimeFilter label="To" filter={filters.to} onFilter={(to) => setFilters({ to })} />
          </>
        )}
        <ModeFilter filter={filters.mode} onFilter={(mode) => setFilters({ mode })} />
        <MembraneFilter filter={filters.membrane_id} onFilter={(membrane_id) => setFilters({ membrane_id })} />
      </form>
      <Loaded query={query} what="the overview">
        {(overview) => (
          <>
            <Totals overview={overview} filters={filters} />
            <Attention keys={overview.keys} />
            <Figures overview={overview} filters={filters} onZoom={(from, to) => setFilters({ from, to })} />
          </>
        )}
      </Loaded>
    </>
  );
}
