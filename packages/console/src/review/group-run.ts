/** Decides several escalations, one after the other, each with its own vote. */
import type { Escalation, RulingInput } from "@countersign/contract";
import { ApiError, ConnectionError, newIdempotencyKey } from "@countersign/sdk";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { createRest, secondsToRest } from "../api/rest.ts";
import { useClient } from "../api/session.tsx";

/** `unknown`: no answer came, so the vote may have counted; the next run sends it again. */
export type Item =
  | { readonly state: "waiting" | "sending" | "unknown" }
  | { readonly state: "ruled"; readonly after: Escalation }
  | { readonly state: "refused"; readonly error: unknown };

/** Returns whether the service is temporarily unable to answer. Any other error refuses this ruling only. */
function isPassing(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status >= 500 || error.status === 401);
}

export const waiting: Item = { state: "waiting" };

/** Sends nothing before `begin`. Leaving the page ends the run after the current request. */
export function useGroupRun() {
  const queries = useQueryClient();
  const vote = useVote();
  const { items, stateOf, set } = useItems();
  const [running, setRunning] = useState(false);
  /** Why the run pauses or has ended early; null: it runs, or the reviewer stopped it. */
  const [held, setHeld] = useState<unknown>(null);
  const stopped = useRef(false);
  const [rest] = useState(createRest);
  const stop = useCallback((): void => {
    stopped.current = true;
    rest.end();
  }, [rest]);
  useEffect(() => stop, [stop]);

  /** Repeats the vote after every pause that the service asks for. Returns false if the run must end. */
  async function ruleOn(id: string, ruling: RulingInput): Promise<boolean> {
    while (!stopped.current) {
      set(id, { state: "sending" });
      try {
        set(id, { state: "ruled", after: await vote(id, ruling) });
        return true;
      } catch (error) {
        const seconds = secondsToRest(error);
        if (seconds === null) {
          const passing = isPassing(error);
          set(id, passing ? { state: "unknown" } : { state: "refused", error });
          if (passing) setHeld(error);
          return !passing;
        }
        set(id, waiting);
        setHeld(error);
        await rest.take(seconds);
        setHeld(null);
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
        const state = stateOf(id);
        if (state === "ruled" || state === "refused") continue;
        if (!(await ruleOn(id, ruling))) break;
      }
    } finally {
      setRunning(false);
      void queries.invalidateQueries({ queryKey: ["escalations"] });
      void queries.invalidateQueries({ queryKey: ["intents"] });
    }
  }

  return { items, running, held, begin, stop };
}

/** `stateOf` returns a new state before the page renders it. */
function useItems() {
  const [items, setItems] = useState<ReadonlyMap<string, Item>>(new Map());
  const known = useRef(new Map<string, Item>());
  const set = (id: string, item: Item): void => {
    known.current.set(id, item);
    setItems(new Map(known.current));
  };
  const stateOf = (id: string) => (known.current.get(id) ?? waiting).state;
  return { items, stateOf, set };
}

/** A repeated vote keeps its idempotency key, so the service counts it once. */
function useVote() {
  const client = useClient();
  const queries = useQueryClient();
  const keys = useRef(new Map<string, string>());
  return async (id: string, ruling: RulingInput): Promise<Escalation> => {
    const idempotency_key = keys.current.get(id) ?? newIdempotencyKey();
    keys.current.set(id, idempotency_key);
    const after = await client.decideEscalation(id, ruling, { idempotency_key });
    queries.setQueryData(["escalations", "one", id], after);
    return after;
  };
}
