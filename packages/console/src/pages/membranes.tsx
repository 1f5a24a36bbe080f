/** Membranes: what stands between agents and the world, and whether it holds. */
import { limits, type Membrane, type MembraneChange, type Verdict } from "@countersign/contract";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { beginOf } from "../browser/clock.ts";
import { useSeen } from "../browser/seen.ts";
import { HorizontalBars } from "../parts/charts.tsx";
import { Confirm, Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { KnownTools } from "../parts/forms/known-tools.tsx";
import { usePacks } from "../parts/packs.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { changedOnly } from "../parts/records/changed-only.ts";
import { useMembranes } from "../parts/shadow-banner.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { spanText } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { Uncovered } from "../parts/uncovered.tsx";

export function MembranesPage() {
  const query = useMembranes();
  const may = useMay("admin");
  const [editing, setEditing] = useState<Membrane | "new" | null>(null);
  return (
    <>
      <PageHead
        title="Membranes"
        about="A membrane stands between a group of agents and the world. In shadow it watches; live it holds."
      >
        {may && (
          <button type="button" className="button primary" onClick={() => setEditing("new")}>
            Add a membrane
          </button>
        )}
      </PageHead>
      <Loaded query={query} what="the membranes">
        {(membranes) => (
          <div className="stack">
            {membranes.map((membrane) => (
              <MembraneCard key={membrane.membrane_id} membrane={membrane} onEdit={() => setEditing(membrane)} />
            ))}
          </div>
        )}
      </Loaded>
      {editing !== null && (
        <MembraneDialog membrane={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
    </>
  );
}

const share = (value: number | null) => (value === null ? "never" : `from risk ${value}`);

/** Where nothing is left between the two, nobody is ever asked. */
function reviewShare({ escalate_at, block_at }: Membrane["thresholds"]): string {
  if (escalate_at === null || block_at === null || escalate_at < block_at) return share(escalate_at);
  return `never: blocked from risk ${block_at} on, before it would be asked for (${escalate_at})`;
}

function MembraneCard({ membrane, onEdit }: { readonly membrane: Membrane; readonly onEdit: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const may = useMay("admin");
  /** What it shall become; stays what was asked for when somebody else moves the membrane meanwhile. */
  const [asked, setAsked] = useState<"live" | "shadow" | null>(null);
  const live = membrane.status === "live";
  const move = useMutation({
    mutationFn: (to: "live" | "shadow") =>
      to === "live" ? client.goLive(membrane.membrane_id) : client.returnToShadow(membrane.membrane_id),
    onSuccess: (after) =>
      toasts.done(
        after.status === "live"
          ? "Live: its decisions are enforced from now on"
          : "In shadow: nothing is held any more",
      ),
    onError: toasts.failed,
    onSettled: () => {
      setAsked(null);
      void queries.invalidateQueries({ queryKey: ["membranes"] });
    },
  });
  return (
    <section className="card stack" aria-label={membrane.name}>
      <div className="row between">
        <span className="row">
          <h2>
            <Data text={membrane.name} />
          </h2>
          <Badge text={membrane.status} tone={live ? "live" : "shadow"} />
          {membrane.is_default && <Badge text="default" />}
        </span>
        {may && (
          <span className="row">
            <button type="button" className="button small" onClick={onEdit}>
              Change
            </button>
            <button
              type="button"
              className={live ? "button small bad" : "button small primary"}
              onClick={() => setAsked(live ? "shadow" : "live")}
            >
              {live ? "Return to shadow" : "Go live"}
            </button>
          </span>
        )}
      </div>
      <dl className="pairs">
        <dt>When no rule fires</dt>
        <dd>{membrane.default_verdict}</dd>
        <dt>Review by risk alone</dt>
        <dd>{reviewShare(membrane.thresholds)}</dd>
        <dt>Block by risk alone</dt>
        <dd>{share(membrane.thresholds.block_at)}</dd>
        <dt>Packs</dt>
        <dd>{membrane.packs.length === 0 ? "none" : <Data text={membrane.packs.join(", ")} />}</dd>
        <dt>Reviews</dt>
        <dd>
          {`${membrane.escalation.quorum} approval${membrane.escalation.quorum === 1 ? "" : "s"} within ${spanText(membrane.escalation.timeout_seconds)}, else ${membrane.escalation.on_timeout === "block" ? "blocked" : "approved"}`}
        </dd>
        <dt>Known tools</dt>
        <dd>
          <KnownTools membrane={membrane} />
        </dd>
        <dt>Id</dt>
        <dd className="mono small">{membrane.membrane_id}</dd>
      </dl>
      {!live && <ShadowReport membrane={membrane} />}
      <Uncovered membrane={membrane} />
      {asked !== null && (
        <Confirm
          title={asked === "shadow" ? "Stop holding actions?" : "Enforce its decisions from now on?"}
          action={asked === "shadow" ? "Return to shadow" : "Go live"}
          tone={asked === "shadow" ? "bad" : "primary"}
          busy={move.isPending}
          onConfirm={() => move.mutate(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {"Membrane "}
            <strong>
              <Data text={membrane.name} />
            </strong>
            {asked === "shadow"
              ? ": agents go on whatever the verdict. Reviews that are open stay open."
              : ": blocked actions are refused and escalated ones wait for a person. Look first at what it would have held."}
          </p>
        </Confirm>
      )}
    </section>
  );
}

/** What this membrane would have held, had it been live. */
function ShadowReport({ membrane }: { readonly membrane: Membrane }) {
  const client = useClient();
  const [element, seen] = useSeen<HTMLDivElement>();
  const query = useQuery({
    queryKey: ["overview", "shadow-report", membrane.membrane_id],
    enabled: seen,
    queryFn: () =>
      client.getOverview({ from: beginOf(31 * 86_400_000), membrane_id: membrane.membrane_id, mode: "shadow" }),
    staleTime: 30_000,
  });
  return (
    <div className="stack tight" ref={element}>
      <h3>What it would have held in the last 31 days</h3>
      <Loaded query={query} what="the report">
        {(report) => {
          const count = (verdict: Verdict) =>
            report.buckets.reduce((sum, each) => (each.verdict === verdict ? sum + each.count : sum), 0);
          const { membrane_id } = membrane;
          const decisions = (done: string, verdict: Verdict) => (
            <Link to="/decisions" search={{ mode: "shadow", verdict, membrane_id, from: report.from } as never}>
              {`${done} ${count(verdict).toLocaleString("en")}`}
            </Link>
          );
          if (report.decisions === 0)
            return <p className="muted">No decision in shadow so far: let agents ask for a while before going live.</p>;
          return (
            <>
              <p>
                {`Of ${report.decisions.toLocaleString("en")} actions it would have `}
                {decisions("blocked", "block")}
                {", "}
                {decisions("asked a person about", "escalate")}
                {", and "}
                {decisions("changed", "approve_modified")}.
              </p>
              <HorizontalBars
                rows={report.policies.slice(0, 6).map((each) => ({
                  key: `${each.policy} ${each.effect}`,
                  label: <Data text={each.policy} chars_max={80} />,
                  count: each.count,
                }))}
              />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

const riskOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));

function MembraneDialog({ membrane, onClose }: { readonly membrane: Membrane | null; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const packs = usePacks();
  const save = useMutation({
    mutationFn: async (form: FormData) => {
      const text = (name: string) => String(form.get(name) ?? "");
      const input: MembraneChange & { name: string } = {
        name: text("name").trim(),
        default_verdict: text("default_verdict") as Membrane["default_verdict"],
        thresholds: { escalate_at: riskOf(text("escalate_at")), block_at: riskOf(text("block_at")) },
        // Packs that are not shown yet must not be switched off by saving.
        ...(packs.data === undefined ? {} : { packs: form.getAll("packs").map(String) }),
        escalation: {
          reviewers: membrane?.escalation.reviewers ?? [{ type: "role", id: "reviewer" }],
          timeout_seconds: Math.round(Number(text("hours")) * 3_600),
          on_timeout: text("on_timeout") as "block",
          quorum: Number(text("quorum")),
        },
      };
      return membrane === null
        ? client.createMembrane(input)
        : client.changeMembrane(
            membrane.membrane_id,
            // Read again: the packs are saved whole, and others may have switched some on or off.
            changedOnly(input, membrane, await client.getMembrane(membrane.membrane_id)),
          );
    },
    onSuccess: () => {
      toasts.done(membrane === null ? "Membrane added, in shadow" : "Saved", "Decisions from now on follow it.");
      void queries.invalidateQueries({ queryKey: ["membranes"] });
      onClose();
    },
  });
  const terms = membrane?.escalation;
  return (
    <Dialog title={membrane === null ? "Add a membrane" : "Change the membrane"} onClose={onClose} broad>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(new FormData(event.currentTarget));
        }}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={limits.name_chars_max}
          defaultValue={membrane?.name ?? ""}
        />
        <div className="grid-2">
          <SelectField
            label="When no rule fires"
            name="default_verdict"
            defaultValue={membrane?.default_verdict ?? "approve"}
            options={[
              ["approve", "approve"],
              ["escalate", "ask a person"],
              ["block", "block"],
            ]}
          />
          <SelectField
            label="When nobody answers in time"
            name="on_timeout"
            defaultValue={terms?.on_timeout ?? "block"}
            options={[
              ["block", "block"],
              ["approve", "approve"],
            ]}
          />
          <TextField
            label="Ask a person from risk"
            hint="0 to 1; empty: never"
            name="escalate_at"
            type="number"
            step="any"
            min={0}
            max={1}
            defaultValue={membrane?.thresholds.escalate_at ?? ""}
          />
          <TextField
            label="Block from risk"
            hint="0 to 1; empty: never. From here on nobody is asked"
            name="block_at"
            type="number"
            step="any"
            min={0}
            max={1}
            defaultValue={membrane?.thresholds.block_at ?? ""}
          />
          <TextField
            label="Hours for a review"
            name="hours"
            type="number"
            step="any"
            min={0.0003}
            max={limits.escalation_timeout_seconds_max / 3_600}
            required
            defaultValue={(terms?.timeout_seconds ?? limits.escalation_timeout_seconds_default) / 3_600}
          />
          <TextField
            label="Approvals needed"
            name="quorum"
            type="number"
            min={1}
            max={limits.escalation_quorum_max}
            required
            defaultValue={terms?.quorum ?? 1}
          />
        </div>
        <fieldset className="stack tight">
          <legend className="small muted">Packs</legend>
          <Loaded query={packs} what="the packs">
            {(all) => (
              <div className="grid-2">
                {all.map((pack) => (
                  <label key={pack.name} className="check small">
                    <input
                      type="checkbox"
                      name="packs"
                      value={pack.name}
                      defaultChecked={membrane?.packs.includes(pack.name) ?? false}
                    />
                    <span>
                      {pack.name} <span className="muted">{pack.title}</span>
                    </span>
                  </label>
                ))}
              </div>
            )}
          </Loaded>
        </fieldset>
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Save" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}
