import type { Stream } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { Confirm } from "../../parts/forms/dialog.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { StreamDialog } from "./streams/stream-dialog.tsx";
import { StreamTable } from "./streams/stream-table.tsx";
import { useStreamChanges } from "./streams/use-stream-changes.ts";

export function StreamsPage() {
  const client = useClient();
  const may = useMay("admin");
  const [asked, setAsked] = useState<"add" | Stream | null>(null);
  const close = () => setAsked(null);
  const query = useQuery({
    queryKey: ["streams"],
    queryFn: () => client.listStreams(),
    // The lag changes by itself.
    refetchInterval: 15_000,
  });
  const changes = useStreamChanges(close);
  const add = may && (
    <button type="button" className="button primary" onClick={() => setAsked("add")}>
      Add a stream
    </button>
  );
  return (
    <>
      <PageHead title="Streams" about="The audit trail, written to your store for a SIEM or an archive.">
        {(query.data?.length ?? 0) > 0 && add}
      </PageHead>
      <section className="card" aria-label="Streams">
        <Loaded query={query} what="the streams">
          {(streams) =>
            streams.length === 0 ? (
              <Empty title="No streams" action={add}>
                <p>
                  A stream writes each decision and change to a bucket or a directory, as JSON Lines or OCSF events.
                </p>
              </Empty>
            ) : (
              <StreamTable streams={streams} changes={changes} onRemove={setAsked} />
            )
          }
        </Loaded>
      </section>
      {asked === "add" && <StreamDialog onClose={close} onSaved={changes.added} />}
      {asked !== null && asked !== "add" && (
        <Confirm
          title="Remove this stream?"
          action="Remove"
          tone="bad"
          busy={changes.remove.isPending}
          onConfirm={() => changes.remove.mutate(asked)}
          onClose={close}
        >
          <p>
            <Data text={asked.name} /> writes nothing more. What it wrote stays in the store.
          </p>
        </Confirm>
      )}
    </>
  );
}
