import type { OpenSession } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useSession } from "../api/session.tsx";
import { hasDrafts } from "../browser/storage.ts";
import { Confirm } from "../parts/forms/dialog.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";

export function Sessions() {
  const client = useClient();
  const list = usePaged(["session", "all"], async (cursor) => {
    const page = await client.listSessions(cursor === undefined ? {} : { cursor });
    return { rows: page.sessions, next_cursor: page.next_cursor };
  });
  const [asked, setAsked] = useState(false);
  const { end, endAll } = useEndings(() => setAsked(false));
  return (
    <section className="card stack" aria-label="Sessions">
      <div className="row between">
        <h2>Where you are signed in</h2>
        <button type="button" className="button small bad" onClick={() => setAsked(true)}>
          Sign out everywhere
        </button>
      </div>
      <Paged list={list} what="sessions" empty={null}>
        {(sessions) => (
          <ul className="plain stack tight">
            {sessions.map((session) => (
              <SessionRow
                key={session.session_id}
                session={session}
                busy={end.isPending}
                onEnd={() => end.mutate(session.session_id)}
              />
            ))}
          </ul>
        )}
      </Paged>
      {asked && (
        <Confirm
          title="Sign out everywhere?"
          action="Sign out everywhere"
          tone="bad"
          busy={endAll.isPending}
          onConfirm={() => endAll.mutate()}
          onClose={() => setAsked(false)}
        >
          <p>All your sessions end at once, this one too. API keys stay valid.</p>
          {hasDrafts() && <p>Unsaved text in this tab is deleted.</p>}
        </Confirm>
      )}
    </section>
  );
}

function useEndings(onAllSettled: () => void) {
  const client = useClient();
  const { signOut } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const end = useMutation({
    mutationFn: (session_id: string) => client.endSession(session_id),
    onSuccess: () => toasts.done("Session ended"),
    onError: toasts.failed,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["session", "all"] }),
  });
  const endAll = useMutation({
    mutationFn: () => signOut("all"),
    onError: toasts.failed,
    onSettled: onAllSettled,
  });
  return { end, endAll };
}

function SessionRow({
  session,
  busy,
  onEnd,
}: {
  readonly session: OpenSession;
  readonly busy: boolean;
  readonly onEnd: () => void;
}) {
  return (
    <li className="row between">
      <span className="small">
        <Data text={session.user_agent ?? "unknown browser"} chars_max={90} />
        <span className="muted">
          {session.current ? " · this one" : ""}
          {session.client_ip !== null && ` · ${session.client_ip}`}
          {" · seen "}
          <Time at={session.last_seen_at} />
        </span>
      </span>
      {!session.current && (
        <button type="button" className="button small" disabled={busy} onClick={onEnd}>
          End
        </button>
      )}
    </li>
  );
}
