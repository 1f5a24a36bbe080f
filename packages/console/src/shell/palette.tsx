/** Goes to a page, an agent, a policy or a decision by what is typed. Loads when it is first opened. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { type ReactNode, useDeferredValue, useEffect, useRef, useState } from "react";
import { useClient, useReads, useSession } from "../api/session.tsx";
import { useAgentIds } from "../pages/agents/agent-filter.tsx";
import { ActionOf } from "../pages/decisions/rows.tsx";
import { Dialog } from "../parts/forms/dialog.tsx";
import { VerdictBadge } from "../parts/records/badge.tsx";
import { shownIntent } from "../parts/records/shown.ts";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";
import { allowedGroups } from "./nav.tsx";

const typed_chars_max = 300;
const of_a_kind_max = 6;
/** Shorter texts are hardly a target. */
const target_chars_min = 3;

interface Entry {
  readonly key: string;
  readonly to: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly search?: Readonly<Record<string, string>>;
  readonly shown: ReactNode;
}

interface Group {
  readonly name: string;
  readonly entries: readonly Entry[];
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const input = useRef<HTMLInputElement>(null);
  // The browser gives the focus of a new dialog to the frame around the field.
  useEffect(() => input.current?.focus(), []);
  const [typed, setTyped] = useState("");
  const text = useDeferredValue(typed.trim());
  const groups = useGroups(text).filter(({ entries }) => entries.length > 0);
  const first = valueIn(groups[0]?.name, groups[0]?.entries[0]);
  const [{ chosen, of }, setChosen] = useState({ chosen: first, of: first });
  // Answers of the service come later. The first place is chosen again when another one becomes the first.
  if (of !== first) setChosen({ chosen: first, of: first });
  const go = ({ to, params, search }: Entry) => {
    onClose();
    void navigate({ to, params, search } as never);
  };
  return (
    <Dialog title="Go to" onClose={onClose} broad>
      <Command
        shouldFilter={false}
        label="Page, agent, policy, decision by its target or id"
        className="palette"
        loop
        value={chosen}
        onValueChange={(value) => setChosen({ chosen: value, of: first })}
      >
        <Command.Input
          ref={input}
          value={typed}
          onValueChange={setTyped}
          maxLength={typed_chars_max}
          placeholder="Page, agent, policy, or a decision by its target or id"
        />
        <Command.List label="Places">
          {groups.map(({ name, entries }) => (
            <Command.Group key={name} heading={name}>
              {entries.map((entry) => (
                <Command.Item key={entry.key} value={valueIn(name, entry)} onSelect={() => go(entry)}>
                  {entry.shown}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
        {groups.length === 0 && <p className="muted">Nothing has this name.</p>}
      </Command>
    </Dialog>
  );
}

const valueIn = (group: string | undefined, entry: Entry | undefined) => `${group} ${entry?.key}`;

function useGroups(text: string): readonly Group[] {
  const id = useId(text);
  const pages = usePages(text);
  const agents = useAgentIds(text, text !== "");
  const policies = usePolicies(text);
  const decisions = useDecisionsAbout(text);
  const reads = useReads();
  const shown_agents = text === "" ? [] : agents.slice(0, of_a_kind_max);
  return [
    { name: "By id", entries: id },
    { name: "Pages", entries: pages },
    {
      name: "Agents",
      entries: shown_agents.map((each) => ({
        key: each,
        to: "/agent",
        search: { id: each },
        shown: <Data text={each} chars_max={80} more={false} />,
      })),
    },
    { name: "Policies", entries: policies },
    {
      name: "Decisions",
      entries: [...decisions, ...(reads && text !== "" && id.length === 0 ? [inSummaries(text)] : [])],
    },
  ];
}

const inSummaries = (text: string): Entry => ({
  key: "summaries",
  to: "/decisions",
  search: { text },
  shown: (
    <>
      <span className="muted">Summaries that contain </span>
      <Data text={text} chars_max={80} more={false} />
    </>
  ),
});

function usePages(text: string): readonly Entry[] {
  const { caller } = useSession();
  if (caller === null) return [];
  const folded = text.toLowerCase();
  return allowedGroups(caller.role).flatMap(({ name, links }) =>
    links
      .filter(({ text: title }) => title.toLowerCase().includes(folded))
      .map(({ to, text: title }) => ({
        key: to,
        to,
        shown: (
          <>
            {title}
            <span className="muted small">{name}</span>
          </>
        ),
      })),
  );
}

/** Places that have an id of their own. */
const ids: readonly (readonly [pattern: RegExp, to: string, param: string, what: string])[] = [
  [/^int_[0-9A-Z]{26}$/i, "/decisions/$intent_id", "intent_id", "Decision"],
  [/^esc_[0-9A-Z]{26}$/i, "/escalations/$escalation_id", "escalation_id", "Review"],
  [/^pol_[0-9A-Z]{26}$/i, "/policies/$policy_id", "policy_id", "Policy"],
  [/^bkt_[0-9A-Z]{26}$/i, "/backtests/$backtest_id", "backtest_id", "Backtest"],
];

function useId(text: string): readonly Entry[] {
  return ids.flatMap(([pattern, to, param, what]) =>
    pattern.test(text)
      ? [
          {
            key: text,
            to,
            params: { [param]: text },
            shown: (
              <>
                {what}
                <span className="mono small">{text}</span>
              </>
            ),
          },
        ]
      : [],
  );
}

function usePolicies(text: string): readonly Entry[] {
  const client = useClient();
  const reads = useReads();
  const { data = [] } = useQuery({
    queryKey: ["policies", "palette"],
    queryFn: async () => (await client.listPolicies({ limit: 200 })).policies,
    enabled: reads,
    staleTime: 60_000,
  });
  if (text === "") return [];
  const folded = text.toLowerCase();
  return data
    .filter(({ name, title }) => `${name} ${title ?? ""}`.toLowerCase().includes(folded))
    .slice(0, of_a_kind_max)
    .map(({ policy_id, name, title }) => ({
      key: policy_id,
      to: "/policies/$policy_id",
      params: { policy_id },
      shown: <Data text={title ?? name} chars_max={80} more={false} />,
    }));
}

function useDecisionsAbout(target: string): readonly Entry[] {
  const client = useClient();
  const reads = useReads();
  const { data = [] } = useQuery({
    queryKey: ["intents", "palette", target],
    queryFn: async () => (await client.listIntents({ target, limit: of_a_kind_max })).intents.map(shownIntent),
    enabled: reads && target.length >= target_chars_min,
    staleTime: 10_000,
  });
  return data.map((row) => ({
    key: row.intent_id,
    to: "/decisions/$intent_id",
    params: { intent_id: row.intent_id },
    shown: (
      <>
        <VerdictBadge verdict={row.verdict} />
        <span className="grow">
          <ActionOf row={row} />
        </span>
        <span className="muted small">
          <Data text={row.agent.id} chars_max={40} more={false} /> <Time at={row.submitted_at} />
        </span>
      </>
    ),
  }));
}
