/** Ruling on several escalations, one after the other: a vote each through the same operation as a single one. */
import type { Escalation, RulingInput } from "@countersign/contract";
import { ApiError, ConnectionError, newIdempotencyKey } from "@countersign/sdk";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { createRest, secondsToRest } from "../api/rest.ts";
import { useClient } from "../api/session.tsx";

/** How far one of them is. `unknown`: no answer came, so the vote may have counted or not; it is sent again as it was. */
export type Item =
  | { readonly state: "waiting" | "sending" | "unknown" }
  | { readonly state: "ruled"; readonly after: Escalation }
  | { readonly state: "refused"; readonly error: unknown };

/** What keeps the service from answering now and may be over soon; everything else is said about this one escalation. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status >= 500 || error.status === 401);
}

export const waiting: Item = { state: "waiting" };

/** The run over `ids`. Nothing is sent before `begin`; leaving the page ends it after the one that is under way. */
export function useGroupRun() {
  const client = useClient();
  const queries = useQueryClient();
  const [items, setItems] = useState<ReadonlyMap<string, Item>>(new Map());
  const [running, setRunning] = useState(false);
  /** Why it stands still, and rests only while it runs; null: it does not, or it was told to. */
  const [held, setHeld] = useState<unknown>(null);
  const stopped = useRef(false);
  const [rest] = useState(createRest);
  const known = useRef(new Map<string, Item>());
  /** A vote that is sent again keeps its key, so the service counts it once. */
  const keys = useRef(new Map<string, string>());

  useEffect(
    () => () => {
      stopped.current = true;
      rest.end();
    },
    [rest],
  );

  function set(id: string, item: Item): void {
    known.current.set(id, item);
    setItems(new Map(known.current));
  }

  /** One vote; sent again after every rest, unless it was stopped meanwhile. False: the run ends here. */
  async function ruleOn(id: string, ruling: RulingInput): Promise<boolean> {
    const idempotency_key = keys.current.get(id) ?? newIdempotencyKey();
    keys.current.set(id, idempotency_key);
    while (!stopped.current) {
      set(id, { state: "sending" });
      try {
        const after = await client.decideEscalation(id, ruling, { idempotency_key });
        queries.setQueryData(["escalations", "one", id], after);
        set(id, { state: "ruled", after });
        return true;
      } catch (error) {
        const seconds = secondsToRest(error);
        if (seconds !== null) {
          set(id, waiting);
          setHeld(error);
          await rest.take(seconds);
          setHeld(null);
          continue;
        }
        if (isPassing(error)) {
          set(id, { state: "unknown" });
          setHeld(error);
          return false;
        }
        set(id, { state: "refused", error });
        return true;
      }
    }
    return false;
  }

  async function begin(ids: readonly string[], ruling: RulingInput): Promise<void> {
    stopped.current = false;
    setRunning(true);
    setHeld(null);
    try {
      for (const id of ids) {
        const { state } = known.current.get(id) ?? waiting;
        if (state === "ruled" || state === "refused") continue;
        if (!(await ruleOn(id, ruling))) break;
      }
    } finally {
      setRunning(false);
      void queries.invalidateQueries({ queryKey: ["escalations"] });
      void queries.invalidateQueries({ queryKey: ["intents"] });
    }
  }

  function stop(): void {
    stopped.current = true;
    rest.end();
  }

  return { items, running, held, begin, stop };
}
