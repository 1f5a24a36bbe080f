/** The caller of this tab: its key's owner, or the person of the session. */
import type { CallerInfo } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { onOtherTab } from "../browser/other-tabs.ts";
import { keepKey, keptKey } from "../browser/storage.ts";
import { useToasts } from "../parts/toasts.tsx";
import { adviceOn } from "./advice.ts";
import { connect } from "./connection.ts";

export function callerName({ org_id, type, id }: CallerInfo): string {
  return `${org_id} ${type} ${id}`;
}

/** `apiKey` null: the browser's session. Every sign-in gets a new `n`, so that callers share no answers. */
interface Used {
  readonly apiKey: string | null;
  readonly n: number;
}

/** The newest sign-in of this tab. `begin` starts the next one. */
interface SignIns {
  readonly newest: RefObject<Used>;
  readonly begin: (apiKey: string | null) => Used;
}

/**
 * `use` signs in with a key, or with the browser's session (null). `replace` exchanges the tab's own key: until the new
 * one is in use, a refusal of the old one does not sign the tab out.
 */
export function useCaller() {
  const queries = useQueryClient();
  const [used, setUsed] = useState<Used>(() => ({ apiKey: keptKey(), n: 0 }));
  const { apiKey } = used;
  // A reference, because a request that began before a sign-in must see it when its answer arrives.
  const newest = useRef(used);
  const begin = useCallback((next: string | null) => {
    keepKey(next);
    newest.current = { apiKey: next, n: newest.current.n + 1 };
    setUsed(newest.current);
    return newest.current;
  }, []);
  /** The last caller; null: none, or the caller is changing. */
  const last = useRef<CallerInfo | null>(null);
  /** A change of the tab's own key that the service may already have made; null: none. */
  const changing = useRef<Promise<string> | null>(null);
  const askFor = useQuestion({ newest, begin }, last, changing);
  const lookAgain = useCallback(() => queries.resetQueries({ queryKey: ["caller"] }), [queries]);
  // Asks again on focus, because a report from another tab may be lost.
  const query = useQuery({ ...askFor(used), refetchOnWindowFocus: "always" });
  // A key belongs to this tab only, so changes of the session do not matter.
  useEffect(() => (apiKey === null ? onOtherTab(() => void lookAgain()) : undefined), [apiKey, lookAgain]);
  const use = useCallback(
    async (next: string | null) => {
      last.current = null;
      await queries.prefetchQuery(askFor(begin(next)));
    },
    [queries, askFor, begin],
  );
  const replace = useCallback(
    async (rotate: () => Promise<string>) => {
      changing.current = rotate();
      try {
        await use(await changing.current);
      } finally {
        changing.current = null;
      }
    },
    [use],
  );
  return { apiKey, query, last, use, replace, lookAgain };
}

/** The query returns null if nobody is signed in. */
function useQuestion(
  { newest, begin }: SignIns,
  last: RefObject<CallerInfo | null>,
  changing: RefObject<Promise<string> | null>,
) {
  const toasts = useToasts();
  const compare = useComparison(last);
  return useCallback(
    ({ apiKey, n }: Used) => ({
      queryKey: ["caller", n],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
        let found: CallerInfo | null = null;
        try {
          found = await connect(apiKey, null, () => undefined).getCaller();
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 401)) throw error;
          await Promise.allSettled([changing.current]);
          if (apiKey !== null && !signal.aborted && newest.current.n === n) {
            // The key has ended, so the browser's session is used.
            const { title, todo } = adviceOn(error);
            toasts.told(title, todo);
            begin(null);
          }
        }
        // The answer to an earlier sign-in says nothing about the current caller.
        if (signal.aborted || newest.current.n !== n) return found;
        compare(found);
        last.current = found ?? last.current;
        return found;
      },
      staleTime: 60_000,
    }),
    [newest, begin, toasts, compare, last, changing],
  );
}

/** Returns a function that drops the previous caller's data when the caller changes, and informs the new one. */
function useComparison(last: RefObject<CallerInfo | null>) {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useCallback(
    (found: CallerInfo | null) => {
      if (found !== null && last.current !== null && callerName(found) === callerName(last.current)) return;
      queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "caller" });
      if (found !== null && last.current !== null)
        toasts.told(
          "Another person is signed in",
          `Another person signed in with this browser. This page now shows and does what that person may, in ${found.org_name}.`,
        );
    },
    [queries, toasts, last],
  );
}
