import type { Erasure, Retention } from "@countersign/contract";
import { limits } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay, useSession } from "../api/session.tsx";
import { TextField } from "../parts/forms/field.tsx";
import { Who } from "../parts/records/who.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { ListTable } from "../parts/tables/list-table.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { EraseDialog } from "./erase-dialog.tsx";
import { LegalHolds } from "./legal-holds.tsx";

const kinds = [
  ["content_days", "Content of decisions"],
  ["failed_deliveries_days", "Bodies of failed deliveries"],
  ["facts_days", "Stored facts of agents and targets"],
] as const;

/** How long content is kept, what is on hold, and what was erased. */
export function ErasureSettings() {
  const admin = useMay("admin");
  const auditor = useSession().caller?.role === "auditor";
  return admin || auditor ? <ErasureCard admin={admin} /> : null;
}

function ErasureCard({ admin }: { readonly admin: boolean }) {
  const client = useClient();
  const [erases, setErases] = useState(false);
  const retention = useQuery({ queryKey: ["retention"], queryFn: () => client.getRetention() });
  const erasures = useQuery({ queryKey: ["erasures"], queryFn: () => client.listErasures({ limit: 10 }) });
  return (
    <section className="card stack" aria-label="Erasure and retention">
      <div className="row between">
        <h2>Erasure and retention</h2>
        {admin && (
          <button type="button" className="button bad" onClick={() => setErases(true)}>
            Erase content
          </button>
        )}
      </div>
      <Loaded query={retention} what="the retention">
        {({ retention: days }) => <RetentionForm key={JSON.stringify(days)} days={days} />}
      </Loaded>
      <LegalHolds />
      <Loaded query={erasures} what="the erasures">
        {({ erasures: rows }) => (rows.length === 0 ? null : <ErasureTable rows={rows} />)}
      </Loaded>
      {erases && <EraseDialog onClose={() => setErases(false)} />}
    </section>
  );
}

function RetentionForm({ days }: { readonly days: Retention }) {
  const client = useClient();
  const admin = useMay("admin");
  const queries = useQueryClient();
  const toasts = useToasts();
  const [wanted, setWanted] = useState(days);
  const due = useQuery({
    queryKey: ["retention", "dry", wanted],
    queryFn: async () => (await client.putRetention(wanted, { dry_run: "true" })).due,
    enabled: admin,
  });
  const save = useMutation({
    mutationFn: () => client.putRetention(wanted),
    onSuccess: () => {
      toasts.done("Retention saved", "The service removes what is due page by page, each minute.");
      void queries.invalidateQueries({ queryKey: ["retention"] });
    },
  });
  const changed = kinds.some(([name]) => wanted[name] !== days[name]);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <p className="muted">
        Days until content is removed. An empty field keeps it for ever. Decisions themselves stay.
      </p>
      <div className="filters">
        {kinds.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            type="number"
            min={1}
            max={limits.retention_days_max}
            disabled={!admin}
            value={wanted[name] ?? ""}
            onChange={({ target: { value } }) => setWanted({ ...wanted, [name]: value === "" ? null : Number(value) })}
          />
        ))}
      </div>
      {due.data !== undefined && (
        <p className="small">
          {`Due now: ${due.data.more ? "at least " : ""}${due.data.decisions} decisions (${due.data.held} on hold), ` +
            `${due.data.failed_deliveries} bodies, ${due.data.facts} stored facts.`}
        </p>
      )}
      {save.error !== null && <Failed error={save.error} />}
      {admin && (
        <div className="actions start">
          <button type="submit" className="button" disabled={!changed || save.isPending}>
            Save retention
          </button>
        </div>
      )}
    </form>
  );
}

function ErasureTable({ rows }: { readonly rows: readonly Erasure[] }) {
  return (
    <ListTable heads={["Erased", "State", "Decisions", "By", "Asked"]}>
      {rows.map(({ erasure_id, kind, status, progress, counts, requested_by, created_at }) => (
        <tr key={erasure_id}>
          <td>
            {`a ${kind} `}
            <span className="mono small muted">{erasure_id}</span>
          </td>
          <td>{status === "done" ? "done" : `${Math.floor(progress * 100)} % read`}</td>
          <td>{counts.intents.toLocaleString("en-US")}</td>
          <td>
            <Who id={requested_by} />
          </td>
          <td>
            <Time at={created_at} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}
