import type { Policy } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useClient, useMay } from "../../api/session.tsx";
import { Confirm } from "../../parts/forms/dialog.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { Fired } from "../../policies/fired.tsx";
import { useFilters } from "../../shell/filters.ts";
import { ActivationEvidence } from "./activation-evidence.tsx";

/** Keeps the displayed version, because a newer one may arrive. */
interface Asked {
  readonly what: "live" | "shadow" | "retire";
  readonly version: number;
}

export function InForce({ policy }: { readonly policy: Policy }) {
  const may = useMay("admin");
  const [asked, setAsked] = useAsked(policy, may);
  const act = useAct(policy, () => setAsked(null));
  const newest = policy.active_version === policy.version;
  return (
    <section className="card row between" aria-label="In force">
      <p>
        {policy.active_version === null
          ? "Not active: it decides nothing."
          : `Version ${policy.active_version} is active${policy.status === "shadow" ? " in shadow: it is evaluated and recorded, and stops nothing" : ""}.`}
        {policy.active_version !== null && !newest && ` Version ${policy.version} waits for activation.`}{" "}
        {policy.active_version !== null && <Fired rule={policy.name} words />}
      </p>
      {may && <Buttons policy={policy} onAsk={(what) => setAsked({ what, version: policy.version })} />}
      {asked !== null && (
        <Question
          asked={asked}
          policy={policy}
          busy={act.isPending}
          onConfirm={() => act.mutate(asked)}
          onClose={() => setAsked(null)}
        />
      )}
    </section>
  );
}

/** The address may ask for an activation, after “Save and activate”. */
function useAsked(policy: Policy, may: boolean): [Asked | null, (asked: Asked | null) => void] {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [filters, setFilters] = useFilters(["activate"]);
  const by_address = may && filters.activate === String(policy.version) && !isLive(policy);
  return [
    asked ?? (by_address ? { what: "live", version: policy.version } : null),
    (next) => {
      setAsked(next);
      if (next === null && filters.activate !== undefined) setFilters({ activate: "" });
    },
  ];
}

const isLive = ({ status, active_version, version }: Policy) => status === "live" && active_version === version;

function useAct({ policy_id }: Policy, onSettled: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async ({ what, version }: Asked) =>
      what === "retire"
        ? { ...(await client.retirePolicy(policy_id)), warnings: [], not_ready: [] }
        : client.activatePolicy(policy_id, what, version),
    onSuccess: ({ warnings, not_ready: _, ...after }) => {
      queries.setQueryData(["policies", "one", after.policy_id], after);
      toasts.done(
        after.status === "retired" ? "Retired" : `Version ${after.active_version} is active (${after.status})`,
        "It applies from the next decision on.",
      );
      for (const { message } of warnings) toasts.told("Policies may cost too much together", message);
    },
    onError: toasts.failed,
    onSettled: () => {
      onSettled();
      void queries.invalidateQueries({ queryKey: ["policies"] });
    },
  });
}

function Buttons({ policy, onAsk }: { readonly policy: Policy; readonly onAsk: (what: Asked["what"]) => void }) {
  const newest = policy.active_version === policy.version;
  return (
    <span className="row">
      <Link to="/backtest" search={{ policy_id: policy.policy_id } as never} className="button">
        Backtest
      </Link>
      {!isLive(policy) && (
        <button type="button" className="button primary" onClick={() => onAsk("live")}>
          Activate
        </button>
      )}
      {!(policy.status === "shadow" && newest) && (
        <button type="button" className="button" onClick={() => onAsk("shadow")}>
          Activate in shadow
        </button>
      )}
      {policy.active_version !== null && (
        <button type="button" className="button bad" onClick={() => onAsk("retire")}>
          Retire
        </button>
      )}
    </span>
  );
}

const actions = { live: "Activate", shadow: "Activate in shadow", retire: "Retire" } as const;
const consequences = {
  live: "It applies from the next decision on, on every node.",
  shadow: "It is evaluated and recorded from the next decision on, and stops nothing.",
  retire: "It is not evaluated from the next decision on. You cannot activate it again, and its name stays taken.",
} as const;

function Question({
  asked: { what, version },
  policy,
  ...question
}: {
  readonly asked: Asked;
  readonly policy: Policy;
  readonly busy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={what === "retire" ? "Retire this policy?" : `Activate version ${version}?`}
      action={actions[what]}
      tone={what === "retire" ? "bad" : "primary"}
      {...question}
    >
      <p>
        {consequences[what]}
        {what === "shadow" &&
          policy.status === "live" &&
          ` Version ${policy.active_version}, which is live, then stops nothing.`}
      </p>
      {what === "live" && <ActivationEvidence policy={policy} />}
    </Confirm>
  );
}
