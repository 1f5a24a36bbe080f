import { type Decision, limits, type Override } from "@countersign/contract";
import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useDraft } from "../api/draft.ts";
import { useClient, useMay, useReads, useSession } from "../api/session.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextArea } from "../parts/forms/field.tsx";
import { usePacks } from "../parts/packs.ts";
import { Approvers } from "../parts/records/who.tsx";
import { Failed } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { documentInForce } from "../policies/in-force.ts";
import { isOfPack } from "../policies/of-pack.ts";

/** Time between two reads of an override that waits for its second person. */
const watch_ms = 5_000;

export function OverrideOf({ decision }: { readonly decision: Decision }) {
  const client = useClient();
  const { caller } = useSession();
  const reads = useReads();
  const may = useMay("operator");
  const [asking, setAsking] = useState(false);
  const query = useQuery({
    queryKey: ["overrides", "of", decision.intent_id],
    queryFn: async () => (await client.listOverrides({ intent_id: decision.intent_id, limit: 1 })).overrides[0] ?? null,
    enabled: reads,
    refetchInterval: ({ state }) => (state.data?.status === "pending_second" ? watch_ms : false),
  });
  const override = query.data ?? null;
  const second = override?.status === "pending_second";
  const mine = second && override.approved_by === caller?.person;
  const forbidding = useForbidding(decision, may);
  return (
    <>
      {override !== null && <Standing override={override} mine={mine} />}
      {may && forbidding !== undefined && forbidding.length > 0 && (
        <p className="small muted">
          {`Nobody may override this block: ${forbidding.join(", ")} ${forbidding.length === 1 ? "forbids" : "forbid"} it.`}
        </p>
      )}
      {may && forbidding?.length === 0 && !mine && override?.status !== "active" && (
        <div className="row">
          <button type="button" className={second ? "button primary" : "button"} onClick={() => setAsking(true)}>
            {second ? "Approve as the second person" : "Override this block"}
          </button>
        </div>
      )}
      {asking && <OverrideDialog decision={decision} second={second} onClose={() => setAsking(false)} />}
    </>
  );
}

/**
 * Returns the blocking rules that currently forbid overrides; undefined: not known yet. If a rule cannot be read, the
 * button stays, and the service decides.
 */
function useForbidding({ reasons }: Decision, wanted: boolean): readonly string[] | undefined {
  const client = useClient();
  const packs = usePacks(wanted);
  const stopping = reasons.filter(({ effect }) => effect === "block" || effect === "escalate");
  const own = stopping.flatMap((reason) => (isOfPack(reason) || reason.policy_id === null ? [] : [reason.policy_id]));
  const policies = useQueries({
    queries: (wanted ? [...new Set(own)] : []).map((policy_id) => ({
      queryKey: ["policies", "in force", policy_id],
      queryFn: async () => ({ policy_id, document: await documentInForce(client, policy_id) }),
    })),
  });
  if (packs.isPending || policies.some(({ isPending }) => isPending)) return undefined;
  const of_packs = new Set(
    packs.data?.flatMap(({ rules }) => rules.flatMap(({ name, override }) => (override === "never" ? [name] : []))),
  );
  const of_own = new Set(
    policies.flatMap(({ data }) => {
      const { override } = (data?.document?.["spec"] ?? {}) as { readonly override?: unknown };
      return data !== undefined && override === "never" ? [data.policy_id] : [];
    }),
  );
  const never = stopping.filter((reason) =>
    isOfPack(reason) ? of_packs.has(reason.policy) : of_own.has(reason.policy_id ?? ""),
  );
  return [...new Set(never.map(({ policy }) => policy))];
}

function Standing({ override, mine }: { readonly override: Override; readonly mine: boolean }) {
  const { status, reason, expires_at, consumed_by } = override;
  if (status === "expired" || status === "revoked") return null;
  const people = <Approvers override={override} />;
  return (
    <section className={status === "pending_second" ? "banner warn" : "banner good"} aria-label="Override">
      <div>
        {status === "pending_second" && (
          <>
            <strong>One of two people has approved an override</strong>
            {mine ? "It was you. " : "By "}
            {!mine && people}
            {mine
              ? "Another person with the role operator must approve it here, too, within a day."
              : ". The action stays blocked until a second person approves it, too."}
          </>
        )}
        {status === "active" && (
          <>
            <strong>Overridden: the agent’s next attempt of the same action passes, once</strong>
            {"By "}
            {people}
            {expires_at !== null && (
              <>
                {"; not used yet, it ends "}
                <Time at={expires_at} />
              </>
            )}
          </>
        )}
        {status === "consumed" && (
          <>
            <strong>An override of this block was used</strong>
            {"By "}
            {people}
            {consumed_by !== null && (
              <>
                {"; "}
                <Link to="/decisions/$intent_id" params={{ intent_id: consumed_by }}>
                  the attempt that passed
                </Link>
              </>
            )}
          </>
        )}
        <p className="small">
          <Data text={reason} lines chars_max={1_000} />
        </p>
      </div>
    </section>
  );
}

function OverrideDialog({
  decision,
  second,
  onClose: close,
}: {
  readonly decision: Decision;
  readonly second: boolean;
  readonly onClose: () => void;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [reason, setReason, dropReason] = useDraft(`override.${decision.intent_id}`);
  const onClose = () => {
    dropReason();
    close();
  };
  const act = useMutation({
    mutationFn: () => client.overrideBlock(decision.intent_id, { reason: reason.trim() }),
    onSuccess: (override) => {
      if (override.status === "pending_second")
        toasts.done("Approved by you", "This rule asks for two people: another person must override it, too.");
      else toasts.done("Overridden", "The agent’s next attempt of the same action within 24 hours passes, once.");
      onClose();
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["audit"] });
      void queries.invalidateQueries({ queryKey: ["overrides"] });
    },
  });
  const submit = () => {
    if (!act.isPending && reason.trim() !== "") act.mutate();
  };
  return (
    <Dialog
      title={second ? "Approve as the second person" : "Override this block"}
      onClose={onClose}
      onConfirm={submit}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <p>The agent’s next attempt of the same action within 24 hours passes, once. Other rules still apply.</p>
        <TextArea
          label="Reason (kept in the audit trail)"
          required
          maxLength={limits.comment_chars_max}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {act.error !== null && <Failed error={act.error} />}
        <FormActions action="Override" disabled={act.isPending || reason.trim() === ""} onClose={onClose} />
      </form>
    </Dialog>
  );
}
