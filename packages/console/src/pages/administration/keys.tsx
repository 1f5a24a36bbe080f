import type { ApiKey, ApiKeyCreated } from "@countersign/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay, useSession } from "../../api/session.tsx";
import { useShowSecret } from "../../parts/forms/shown-secret.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty } from "../../parts/states.tsx";
import { Paged, usePaged } from "../../parts/tables/paged.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { BindDialog } from "./keys/bind-dialog.tsx";
import { CreateDialog } from "./keys/create-dialog.tsx";
import { type KeyEnd, KeyEndQuestion, useKeyEnds } from "./keys/key-end.tsx";
import { KeyTable } from "./keys/key-table.tsx";

export function KeysPage() {
  const client = useClient();
  const { caller, signIn } = useSession();
  const queries = useQueryClient();
  const toasts = useToasts();
  const may = useMay("admin");
  const showSecret = useShowSecret();
  const [creating, setCreating] = useState(false);
  const [like, setLike] = useState<ApiKey | null>(null);
  const [bound, setBound] = useState<ApiKey | null>(null);
  const [asked, setAsked] = useState<KeyEnd | null>(null);
  const ends = useKeyEnds(() => setAsked(null));
  const list = usePaged(["keys"], async (cursor) => {
    const page = await client.listApiKeys(cursor === undefined ? {} : { cursor });
    return { rows: page.api_keys, next_cursor: page.next_cursor };
  });
  const onMade = ({ api_key }: ApiKeyCreated) => {
    setCreating(false);
    setLike(null);
    showSecret({
      ...{ title: "The new key", about: "Store it now.", text: api_key, label: "Copy the key" },
      lost: "Revoke this key and create another one.",
    });
    // The first key ends open mode, so this tab must use it.
    if (caller?.type === "open_mode") void signIn(api_key).catch(toasts.failed);
    else void queries.invalidateQueries({ queryKey: ["keys"] });
  };
  const createButton = may && (
    <button type="button" className="button primary" onClick={() => setCreating(true)}>
      Create a key
    </button>
  );
  return (
    <>
      <PageHead title="API keys" about="Agents and integrations sign in with keys. A key is shown in full only once.">
        {list.rows.length > 0 && createButton}
      </PageHead>
      <section className="card" aria-label="API keys">
        <Paged
          list={list}
          what="keys"
          empty={
            <Empty title="No keys yet" action={createButton}>
              <p>The first key ends open mode permanently. After that, every request needs a key.</p>
            </Empty>
          }
        >
          {(rows) => (
            <KeyTable
              rows={rows}
              own={caller?.type === "key" ? caller.id : null}
              onAsk={setAsked}
              onBind={setBound}
              onReplace={setLike}
            />
          )}
        </Paged>
      </section>
      {creating && <CreateDialog onClose={() => setCreating(false)} onMade={onMade} />}
      {like !== null && <CreateDialog like={like} onClose={() => setLike(null)} onMade={onMade} />}
      {bound !== null && <BindDialog bound={bound} onClose={() => setBound(null)} />}
      {asked !== null && (
        <KeyEndQuestion end={asked} busy={ends.busy} onConfirm={() => ends.end(asked)} onClose={() => setAsked(null)} />
      )}
    </>
  );
}
