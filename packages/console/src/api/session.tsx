/** The user of the console: a person's session, a key in this tab, or open mode. */
import { type CallerInfo, type Role, roleMeets } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { ApiError } from "@countersign/sdk";
import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useCallback, useContext, useMemo } from "react";
import { tellOtherTabs } from "../browser/other-tabs.ts";
import { forgetDrafts } from "../browser/storage.ts";
import { useToasts } from "../parts/toasts.tsx";
import { useCaller } from "./caller.ts";
import { connect } from "./connection.ts";

export interface Session {
  /** Also for calls without a caller (sign-up, login). */
  readonly client: Client;
  /** Null: signed out. */
  readonly caller: CallerInfo | null;
  readonly opening: boolean;
  readonly trouble: unknown;
  readonly hasKey: boolean;
  /** The person's session has ended, but not by a sign-out in this tab. */
  readonly ended: boolean;
  signIn(api_key: string): Promise<void>;
  /** Exchanges the tab's own key for the one that `rotate` returns. The old key may be refused from then on. */
  replaceKey(rotate: () => Promise<string>): Promise<void>;
  /** Switches to the browser's session and forgets the tab's key. */
  refresh(): Promise<void>;
  lookAgain(): Promise<void>;
  /**
   * Ends this session, or all of the person's. If the service refuses, drafts stay and the session may still be valid.
   */
  signOut(whose?: "this" | "all"): Promise<void>;
}

const SessionContext = createContext<Session | null>(null);

/** Returns the error of a write that was refused because another caller has signed in; null for other refusals. */
async function asAnother(refusal: Response): Promise<ApiError | null> {
  try {
    const { error } = (await refusal.json()) as { error: Omit<ConstructorParameters<typeof ApiError>[0], "status"> };
    if (error.details[0]?.["code"] !== "another_caller") return null;
    return new ApiError({ ...error, status: refusal.status, retry_after_seconds: null });
  } catch {
    return null; // Another program answered. The sender of the request reports it.
  }
}

function useOnRefused(): (refusal: Response) => void {
  const queries = useQueryClient();
  const toasts = useToasts();
  return useCallback(
    (refusal) => {
      void queries.invalidateQueries({ queryKey: ["caller"] });
      // Reported here, because the new caller's pages replace the page that sent the request.
      void asAnother(refusal).then((error) => error !== null && toasts.failed(error));
    },
    [queries, toasts],
  );
}

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { apiKey, query: caller, last, use, replace, lookAgain } = useCaller();
  const onRefused = useOnRefused();
  // Keeps its caller's name, so that the service refuses its requests after another caller gets the session.
  const name = apiKey === null && caller.data ? (caller.data.id ?? caller.data.type) : null;
  const client = useMemo(() => connect(apiKey, name, onRefused), [apiKey, name, onRefused]);
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
      replaceKey: replace,
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
    [client, caller.data, caller.isPending, caller.error, apiKey, last, use, replace, lookAgain],
  );
  return <SessionContext value={session}>{children}</SessionContext>;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession outside SessionProvider");
  return session;
}

export function useClient(): Client {
  return useSession().client;
}

/** Hides what the API would refuse to a caller without this role. */
export function useMay(least: Role): boolean {
  const { caller } = useSession();
  return caller !== null && roleMeets(caller.role, [least]);
}

export function useReads(): boolean {
  const { caller } = useSession();
  return caller !== null && roleMeets(caller.role, ["reviewer", "auditor"]);
}

export function useSubmits(): boolean {
  const { caller } = useSession();
  return caller !== null && caller.role !== "auditor";
}
