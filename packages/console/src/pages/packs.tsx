import type { Pack } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { TextField } from "../parts/forms/field.tsx";
import { usePacks } from "../parts/packs.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Badge, EffectBadge } from "../parts/records/badge.tsx";
import { useMembranes } from "../parts/shadow-banner.tsx";
import { Empty, Loaded } from "../parts/states.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { visibleText } from "../parts/visible-text.ts";
import { Fired } from "../policies/fired.tsx";
import { useFilters } from "../shell/filters.ts";

export function PacksPage() {
  const [filters, setFilters] = useFilters(["q"]);
  const query = usePacks();
  const membranes = useMembranes();
  const words = (filters.q ?? "").toLowerCase();
  return (
    <>
      <PageHead
        title="Packs"
        about={
          <>
            Ready-made rules with their legal sources. A starting point for your counsel, not legal advice. Each{" "}
            <Link to="/membranes">membrane</Link> switches them on separately.
          </>
        }
      />
      <form className="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
        <TextField
          label="Search rules and citations"
          type="search"
          value={filters.q ?? ""}
          onChange={(event) => setFilters({ q: event.target.value })}
        />
      </form>
      <Loaded query={query} what="the packs">
        {(packs) => {
          const found = packs
            .map((pack) => ({ ...pack, rules: pack.rules.filter((rule) => matches(pack, rule, words)) }))
            .filter(({ rules }) => rules.length > 0);
          if (found.length === 0)
            return (
              <section className="card">
                <Empty
                  title="No rule matches"
                  action={
                    <button type="button" className="button" onClick={() => setFilters({ q: "" })}>
                      Show all rules
                    </button>
                  }
                >
                  <p>Try another word.</p>
                </Empty>
              </section>
            );
          return (
            <section className="card" aria-label="Packs">
              {found.map((pack) => (
                <PackRow
                  key={pack.name}
                  pack={pack}
                  open={words !== ""}
                  used={(membranes.data ?? []).filter(({ packs }) => packs.includes(pack.name)).map(({ name }) => name)}
                />
              ))}
            </section>
          );
        }}
      </Loaded>
    </>
  );
}

function matches(pack: Pack, rule: Pack["rules"][number], words: string): boolean {
  return [pack.name, pack.title, rule.name, rule.title, ...rule.citations].some((text) =>
    text.toLowerCase().includes(words),
  );
}

function needsText(facts_from: Pack["facts_from"]): string {
  const needs = Object.entries(facts_from).map(([path, assurance]) => `${path}: ${assurance}`);
  return needs.length === 0 ? "Its rules read no facts." : `Its facts need this assurance: ${needs.join(", ")}.`;
}

/** The sentence of the page's head, which each pack repeats for readers of the API. */
const disclaimer = " A starting point for counsel, not legal advice.";

function PackRow({
  pack,
  used,
  open,
}: {
  readonly pack: Pack;
  readonly used: readonly string[];
  readonly open: boolean;
}) {
  const { name, title, description, rules, version, facts_from } = pack;
  return (
    <details className="fold" open={open}>
      <summary>
        <span className="grow">
          {title} <span className="mono small muted">{name}</span>
        </span>
        {used.length > 0 && <Badge text={visibleText(`on in ${used.join(", ")}`)} tone="live" />}
        <span className="small muted">{`${rules.length} ${rules.length === 1 ? "rule" : "rules"}`}</span>
      </summary>
      <div className="stack tight unfolded">
        <p>{description.replace(disclaimer, "").replaceAll("`", "")}</p>
        <p className="small muted">{`${needsText(facts_from)} Version ${version}.`}</p>
        <ListTable heads={["Rule", "Effect", "Rests on", "Fired in 7 days"]} numbers={1} caption={`Rules of ${name}`}>
          {rules.map((rule) => (
            <tr key={rule.name}>
              <td>
                {rule.title}
                <div className="mono small muted">{rule.name}</div>
              </td>
              <td>
                <EffectBadge effect={rule.effect} />
              </td>
              <td className="small">{rule.citations.join("; ")}</td>
              <td className="num">
                <Fired rule={rule.name} />
              </td>
            </tr>
          ))}
        </ListTable>
      </div>
    </details>
  );
}
