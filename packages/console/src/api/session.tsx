/** Who uses the console: a person's session, a key typed into this tab, or open mode. */
import { type CallerInfo, type Role, roleMeets } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { ApiError } from "@countersign/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { onOtherTab, tellOtherTabs } from "../browser/other-tabs.ts";
import { forgetDrafts, keepKey, keptKey } from "../browser/storage.ts";
import { useToasts } from "../parts/toasts.tsx";
import { adviceOn } from "./advice.ts";
import { connect } from "./connection.ts";

/** The session as every page sees it. */
export interface Session {
  /** For calls that need nobody (sign-up, login): works signed out, too. */
  readonly client: Client;
  /** Null: signed out. */
  readonly caller: CallerInfo | null;
  /** The first look at who we are is under way. */
  readonly opening: boolean;
  /** Why we could not find out; null: we did. */
  readonly trouble: unknown;
  readonly hasKey: boolean;
  /** Somebody was signed in here whose session has ended without their doing in this tab. */
  readonly ended: boolean;
  /** Uses this key from now on; throws what the service says to it, and then nothing has changed. */
  signIn(api_key: string): Promise<void>;
  /** Goes on with the browser's session, after a login by cookie: whoever has just signed in is meant, not this tab's key. */
  refresh(): Promise<void>;
  /** Looks again who we are. */
  lookAgain(): Promise<void>;
  /**
   * Ends this tab's use, or all sessions of whoever is signed in. Throws what the service says to it: then the session may go on,
   * and what was being written is kept.
   */
  signOut(whose?: "this" | "all"): Promise<void>;
}

const SessionContext = createContext<Session | null>(null);

/** Names the caller among all that there are: a page and what it has read are one caller's. */
export function callerName({ org_id, type, id }: CallerInfo): string {
  return `${org_id} ${type} ${id}`;
}

/** The error of a write that was refused because the session is another's by now; null: of any other refusal. */
async function asAnother(refusal: Response): Promise<ApiError | null> {
  try {
    const { error } = (await refusal.json()) as { error: Omit<ConstructorParameters<typeof ApiError>[0], "status"> };
    if (error.details[0]?.["code"] !== "another_caller") return null;
    return new ApiError({ ...error, status: refusal.status, retry_after_seconds: null });
  } catch {
    return null; // not an answer of the service, which whoever asked tells
  }
}

/** What this tab goes by: its key, or without one the browser's session; numbered, because what one is told is not the next one's. */
interface Used {
  readonly apiKey: string | null;
  readonly n: number;
}

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const toasts = useToasts();
  const [used, setUsed] = useState<Used>(() => ({ apiKey: keptKey(), n: 0 }));
  const { apiKey } = used;
  /** The last caller that this tab was used as; null: nobody yet, or the change is this tab's own doing. */
  const last = useRef<CallerInfo | null>(null);
  const onRefused = useCallback(
    (refusal: Response) => {
      void queries.invalidateQueries({ queryKey: ["caller"] });
      // Told here: the page that asked may be gone before it can, as soon as it is known whose the session is.
      void asAnother(refusal).then((error) => error !== null && toasts.failed(error));
    },
    [queries, toasts],
  );
  const lookAgain = useCallback(() => queries.resetQueries({ queryKey: ["caller"] }), [queries]);

  /** Who we are by what is used; null: nobody. */
  const askFor = useCallback(
    ({ apiKey, n }: Used) => ({
      queryKey: ["caller", n],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
        let found: CallerInfo | null = null;
        try {
          found = await connect(apiKey, null, () => undefined).getCaller();
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 401)) throw error;
          if (apiKey !== null && !signal.aborted) {
            // It never comes back; the browser's session may be somebody's, or somebody signs in.
            const { title, todo } = adviceOn(error);
            toasts.told(title, todo);
            keepKey(null);
            setUsed({ apiKey: null, n: n + 1 });
          }
        }
        if (signal.aborted) return found;
        if (found === null || last.current === null || callerName(found) !== callerName(last.current)) {
          queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "caller" });
          if (found !== null && last.current !== null)
            toasts.told(
              "Another person is signed in",
              `The session of this browser has changed hands. What this page shows and does is theirs now, in ${found.org_name}.`,
            );
        }
        last.current = found ?? last.current;
        return found;
      },
      staleTime: 60_000,
    }),
    [queries, toasts],
  );
  // Where no word came from another tab, coming back to this one is early enough.
  const caller = useQuery({ ...askFor(used), refetchOnWindowFocus: "always" });
  // A key speaks for this tab alone, whatever becomes of the session.
  useEffect(() => (apiKey === null ? onOtherTab(() => void lookAgain()) : undefined), [apiKey, lookAgain]);

  // Whoever began something goes on with the client that it was begun with: it is refused once the session is another's.
  const name = apiKey === null && caller.data ? (caller.data.id ?? caller.data.type) : null;
  const client = useMemo(() => connect(apiKey, name, onRefused), [apiKey, name, onRefused]);

  const use = useCallback(
    async (next: string | null) => {
      keepKey(next);
      last.current = null;
      const after = { apiKey: next, n: used.n + 1 };
      setUsed(after);
      await queries.prefetchQuery(askFor(after));
    },
    [queries, askFor, used.n],
  );

  const session = useMemo<Session>(
    () => ({
      client,
      caller: caller.data ?? null,
      opening: caller.isPending,
      trouble: caller.error,
      hasKey: apiKey !== null,
      ended: caller.data === null && last.current?.type === "user",
      async signIn(next) {
        await connect(next, null, () => undefined).getCaller();
        await use(next);
      },
      async refresh() {
        tellOtherTabs();
        await use(null);
      },
      lookAgain,
      async signOut(whose = "this") {
        if (apiKey === null) {
          await (whose === "all" ? client.endAllSessions() : client.logout());
          tellOtherTabs();
        }
        forgetDrafts();
        await use(null);
      },
    }),
    [client, caller.data, caller.isPending, caller.error, apiKey, use, lookAgain],
  );
  return <SessionContext value={session}>{children}</SessionContext>;
}

/** The session. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession outside SessionProvider");
  return session;
}

/** The client of whoever is signed in. */
export function useClient(): Client {
  return useSession().client;
}

/** Whether the caller's role includes this one. The API decides in the end; this only hides what it would refuse. */
export function useMay(least: Role): boolean {
  const { caller } = useSession();
  return caller !== null && roleMeets(caller.role, [least]);
}

/** Whether the caller may read what reviewers and auditors may. */
export function useReads(): boolean {
  const { caller } = useSession();
  return caller !== null && roleMeets(caller.role, ["reviewer", "auditor"]);
}

/** Whether the caller may submit intents, if only to try one. */
export function useSubmits(): boolean {
  const { caller } = useSession();
  return caller !== null && caller.role !== "auditor";
}
