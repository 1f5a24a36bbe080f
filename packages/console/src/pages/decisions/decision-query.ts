/** The filters of the page in the address, as the API takes them. */
import type { PipelineMode, Verdict } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useClient } from "../../api/session.tsx";
import { asTime } from "../../parts/forms/filter-fields.tsx";
import { shownIntent } from "../../parts/records/shown.ts";
import { usePaged } from "../../parts/tables/paged.tsx";
import type { Filters } from "../../shell/filters.ts";

/** Filters that are typed, in the order of their chips. */
export const searchedNames = ["rule", "tool", "target", "session_id", "on_behalf_of", "text"] as const;
export type SearchedName = (typeof searchedNames)[number];

const otherNames = ["agent_id", "verdict", "outcome", "mode", "membrane_id", "from", "to", "execution"] as const;
export const filterNames = [...otherNames, ...searchedNames] as const;
export type DecisionFilters = Filters<(typeof filterNames)[number]>;

export const noFilters: DecisionFilters = Object.fromEntries(filterNames.map((name) => [name, ""]));

type IntentQuery = NonNullable<Parameters<Client["listIntents"]>[0]>;

/** Ignores invalid times. */
export function queryOf({ from, to, ...filters }: DecisionFilters): IntentQuery {
  const { verdict, mode, outcome, execution, ...texts } = filters;
  const [since, until] = [asTime(from), asTime(to)];
  return {
    ...texts,
    ...(verdict === undefined ? {} : { verdict: verdict as Verdict }),
    ...(mode === undefined ? {} : { mode: mode as PipelineMode }),
    ...(outcome === undefined ? {} : { outcome: outcome as NonNullable<IntentQuery["outcome"]> }),
    ...(since === undefined ? {} : { from: since }),
    ...(until === undefined ? {} : { to: until }),
    ...(execution === "unknown" ? { execution } : {}),
  };
}

/** A search joins its pages, because some of them are empty. */
export function useDecisions(query: IntentQuery) {
  const client = useClient();
  const searches = query.outcome !== undefined || searchedNames.some((name) => query[name] !== undefined);
  return usePaged(
    ["intents", "list", query],
    async (cursor) => {
      const page = await client.listIntents({ ...query, limit: 50, ...(cursor === undefined ? {} : { cursor }) });
      return { rows: page.intents.map(shownIntent), next_cursor: page.next_cursor, searched_to: page.searched_to };
    },
    { joins: searches },
  );
}
