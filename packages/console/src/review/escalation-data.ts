import type { Escalation, IntentRecord } from "@countersign/contract";
import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";
import { shownAnswer, shownIntent } from "../parts/records/shown.ts";
import { asked, whatDiffers } from "./what-differs.ts";

/**
 * Time between two reads of an open escalation. Unchanged ones answer 304, which costs no budget. By the first read the
 * service knows when the case was shown (docs/decisions/0039-time-and-pace-of-reviews.md).
 */
const watch_ms = 3_000;

export const queueKey = ["escalations", "queue"] as const;

type QueuePages = InfiniteData<{ readonly rows: readonly Escalation[] }>;

export function useEscalation(escalation_id: string) {
  const client = useClient();
  const queries = useQueryClient();
  /** The queue has just read the escalation, so the newest list has it. */
  const listed = () =>
    queries
      .getQueryCache()
      .findAll({ queryKey: queueKey })
      .flatMap(({ state }) =>
        ((state.data as QueuePages | undefined)?.pages ?? [])
          .flatMap(({ rows }) => rows)
          .filter((row) => row.escalation_id === escalation_id)
          .map((row) => ({ row, at: state.dataUpdatedAt })),
      )
      .sort((a, b) => b.at - a.at)[0];
  return useQuery({
    queryKey: ["escalations", "one", escalation_id],
    queryFn: () => client.getEscalation(escalation_id),
    initialData: () => listed()?.row,
    initialDataUpdatedAt: () => listed()?.at,
    refetchInterval: (query) => (query.state.data?.status === "pending" || query.state.error ? watch_ms : false),
  });
}

/** Read again after the escalation closes, because reviewers may change the intent. */
export function useIntent({ intent_id, status }: Escalation) {
  const client = useClient();
  return useQuery({
    queryKey: ["intents", "one", intent_id, status],
    queryFn: async () => shownAnswer(await client.getIntent(intent_id)),
    // Keeps the old data on the screen during the read, with the dialog in which someone writes.
    placeholderData: (before, query) => (query?.queryKey[2] === intent_id ? before : undefined),
  });
}

/** Number of an agent's decided escalations searched for similar ones. */
export const similar_among = 100;

/** Reads other decided escalations of the same agent and tool, newest first. `all`: there are no further ones. */
export function useSimilar({ agent_id, action: { type, verb }, escalation_id }: Escalation) {
  const client = useClient();
  return useQuery({
    queryKey: ["escalations", "similar", agent_id, type, verb, escalation_id],
    queryFn: async () => {
      const page = await client.listEscalations({ status: "decided", agent_id, limit: similar_among });
      return {
        cases: page.escalations.filter(
          (each) => each.escalation_id !== escalation_id && each.action.verb === verb && each.action.type === type,
        ),
        all: page.next_cursor === null,
      };
    },
    staleTime: 60_000,
  });
}

/** Reviews with the same cause, or of one agent, tool, kind of target and reason, ignoring numbers in it. */
export interface Group {
  readonly key: string;
  readonly members: readonly Escalation[];
  /** The members have this in common. `chosen`: the reviewer selected them. */
  readonly by: "cause" | "kind" | "chosen";
}

/** Groups near-identical ones, in the order of each group's first. */
export function groupsOf(escalations: readonly Escalation[]): Group[] {
  const groups = new Map<string, { readonly by: Group["by"]; readonly members: Escalation[] }>();
  for (const each of escalations) {
    const key = causeKey(each) ?? kindKey(each);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { by: causeKey(each) === null ? "kind" : "cause", members: [each] });
    else known.members.push(each);
  }
  return [...groups].map(([key, { by, members }]) => ({ key, by, members }));
}

/** Returns one key for all reviews that wait for the same facts. Null: others. */
function causeKey({ status, missing_facts }: Escalation): string | null {
  return status !== "pending" || missing_facts === undefined ? null : JSON.stringify(missing_facts);
}

function kindKey({ agent_id, action: { type, verb, target }, reason }: Escalation): string {
  // The reason contains the payload's numbers.
  return JSON.stringify([agent_id, type, verb, target?.type ?? null, reason.replaceAll(/\d[\d.,]*/g, "#")]);
}

/** Returns the sum of the known amounts; null: none is known. */
export function sumOf(members: readonly Escalation[]): number | null {
  const amounts = members.flatMap(({ amount_usd }) => (amount_usd === undefined ? [] : [amount_usd]));
  return amounts.length === 0 ? null : amounts.reduce((sum, each) => sum + each, 0);
}

/** Pages of 200 to search before reading missing ones singly. */
const pages_max = 10;
/**
 * At most this many are read singly without a search, because the list may have thousands of the same agent between
 * them.
 */
const few = 10;
const a_minute_ms = 60_000;

/**
 * Returns the differences by intent; whether a rule redacts possible differences; and whether rules change the oldest
 * or newest action. The intents between got some version in between.
 */
export function useDifferences(members: readonly Escalation[]) {
  const client = useClient();
  return useQuery({
    queryKey: ["intents", "alike", members.map(({ intent_id }) => intent_id)],
    // A submission never changes.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const wanted = new Set(members.map(({ intent_id }) => intent_id));
      const documents = new Map<string, unknown>();
      let withheld = false;
      let changed = false;
      const take = (intent: IntentRecord) => {
        documents.set(intent.intent_id, asked(shownIntent(intent)));
        withheld ||= intent.withheld.length > 0;
      };
      const times = members.map(({ created_at }) => Date.parse(created_at));
      const ends = [Math.min(...times), Math.max(...times)].map((time) => members[times.indexOf(time)]?.intent_id);
      const agents = new Set(members.map(({ agent_id }) => agent_id));
      const filter = {
        ...(agents.size === 1 && members[0] !== undefined ? { agent_id: members[0].agent_id } : {}),
        verdict: "escalate",
        mode: members[0]?.pipeline_mode ?? "live",
        from: new Date(Math.min(...times) - a_minute_ms).toISOString(),
        to: new Date(Math.max(...times) + a_minute_ms).toISOString(),
        limit: 200,
      } as const;
      let cursor: string | null | undefined;
      for (let pages = 0; cursor !== null && pages < pages_max && wanted.size - documents.size > few; pages += 1) {
        const page = await client.listIntents({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
        for (const each of page.intents) if (wanted.has(each.intent_id)) take(each);
        cursor = page.next_cursor;
      }
      for (const intent_id of wanted) {
        if (documents.has(intent_id) && !ends.includes(intent_id)) continue;
        const { intent, decision } = await client.getIntent(intent_id);
        take(intent);
        changed ||= decision.modified_content !== null;
      }
      return { differences: whatDiffers(documents), withheld, changed };
    },
  });
}
