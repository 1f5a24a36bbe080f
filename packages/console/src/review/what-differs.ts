/** What near-identical actions differ in, for one ruling on all of them. */
import type { Escalation, IntentRecord } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../api/session.tsx";
import { jsonLines } from "../parts/json-lines.ts";
import { shownIntent } from "../parts/shown.ts";

/** A value in one action where not all have the same. `path`: JSON Pointer; `text` as JSON, null: there is none. */
export interface Difference {
  readonly path: string;
  readonly text: string | null;
}

/** Of each action what sets it apart from any of the others; empty for all of them when they ask for the same. */
export type Differences = ReadonlyMap<string, readonly Difference[]>;

const branches = new Set(["{", "}", "[", "]"]);

/** Compares documents by their leaves. */
export function whatDiffers(documents: ReadonlyMap<string, unknown>): Differences {
  const leaves = new Map(
    [...documents].map(([id, document]) => [
      id,
      new Map(jsonLines(document).flatMap(({ path, text }) => (branches.has(text) ? [] : [[path, text]]))),
    ]),
  );
  const paths = new Set([...leaves.values()].flatMap((each) => [...each.keys()]));
  const differing = [...paths].filter((path) => new Set([...leaves.values()].map((each) => each.get(path))).size > 1);
  return new Map(
    [...leaves].map(([id, each]) => [id, differing.map((path) => ({ path, text: each.get(path) ?? null }))]),
  );
}

/** What is done, to what, for whom, and with what; without what tells every action from every other. */
function asked({ agent, action, estimated_impact, decided_as, payload }: IntentRecord): unknown {
  const { on_behalf_of, framework } = agent;
  const { target, ...deed } = action;
  return JSON.parse(
    JSON.stringify({
      on_behalf_of,
      framework,
      target,
      deed,
      decided_as,
      estimated_impact,
      parameters: payload?.content,
    }),
  );
}

/** Pages of 200 that are looked through before what is missing is read one by one. */
const pages_max = 10;
const a_minute_ms = 60_000;

/** The differences of these escalations' intents, by intent. */
export function useDifferences(members: readonly Escalation[]) {
  const client = useClient();
  return useQuery({
    queryKey: ["intents", "alike", members.map(({ intent_id }) => intent_id)],
    // What was submitted never changes.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const wanted = new Set(members.map(({ intent_id }) => intent_id));
      const documents = new Map<string, unknown>();
      const times = members.map(({ created_at }) => Date.parse(created_at));
      const filter = {
        agent_id: members[0]?.agent_id ?? "",
        verdict: "escalate",
        mode: members[0]?.pipeline_mode ?? "live",
        from: new Date(Math.min(...times) - a_minute_ms).toISOString(),
        to: new Date(Math.max(...times) + a_minute_ms).toISOString(),
        limit: 200,
      } as const;
      let cursor: string | null | undefined;
      for (let pages = 0; cursor !== null && pages < pages_max && documents.size < wanted.size; pages += 1) {
        const page = await client.listIntents({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
        for (const each of page.intents)
          if (wanted.has(each.intent_id)) documents.set(each.intent_id, asked(shownIntent(each)));
        cursor = page.next_cursor;
      }
      for (const intent_id of wanted)
        if (!documents.has(intent_id))
          documents.set(intent_id, asked(shownIntent((await client.getIntent(intent_id)).intent)));
      return whatDiffers(documents);
    },
  });
}
