import type { IntentListItem } from "@countersign/contract";
import { useReads } from "../../api/session.tsx";
import { type Findable, FindBox, type Known, useTyped } from "../../parts/forms/find-box.tsx";
import { useRuleNames } from "../../parts/rule-names.ts";
import { useMembranes } from "../../parts/shadow-banner.tsx";
import { useAgentIds } from "../agents/agent-filter.tsx";
import { type DecisionFilters, type SearchedName, searchedNames } from "./decision-query.ts";

type FoundName = SearchedName | "agent_id";

const found: Findable<FoundName> = {
  label: "Find decisions",
  placeholder: "Find by rule, tool, target, session, on behalf of, or words of the summary",
  words: {
    agent_id: "agent",
    rule: "rule",
    tool: "tool",
    target: "target",
    session_id: "session",
    on_behalf_of: "on-behalf-of",
    text: "text",
  },
  chips: searchedNames,
  exact: "agent_id",
  free: "text",
};

export function FindDecisions({
  filters,
  rows,
  onFilter,
}: {
  readonly filters: DecisionFilters;
  /** The field suggests values of these rows. */
  readonly rows: readonly IntentListItem[];
  readonly onFilter: (change: DecisionFilters) => void;
}) {
  const input = useTyped(found);
  const known = useKnown(input.text, rows, input.open);
  return <FindBox found={found} input={input} known={known} filters={filters} onFilter={onFilter} />;
}

const all = (texts: readonly (string | undefined)[]) => [...new Set(texts.filter((each) => each !== undefined))];

function useKnown(text: string, rows: readonly IntentListItem[], open: boolean): Known<FoundName> {
  const reads = useReads();
  const agents = useAgentIds(text, open);
  const membranes = useMembranes(reads && open);
  const rules = useRuleNames(open);
  return {
    agent_id: agents,
    rule: all([...rows.map(({ reason }) => reason?.policy), ...rules]),
    tool: all([
      ...rows.map(({ action }) => action.verb),
      ...(membranes.data ?? []).flatMap(({ action_catalogue }) => action_catalogue.map(({ verb }) => verb)),
    ]),
    target: all(rows.map(({ action }) => action.target?.identifier)),
    session_id: all(rows.map(({ agent }) => agent.session_id)),
    on_behalf_of: all(rows.map(({ agent }) => agent.on_behalf_of)),
    text: [] as readonly string[],
  };
}
