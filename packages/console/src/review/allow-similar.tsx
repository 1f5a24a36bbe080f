/** A grant from a held action: which similar actions may pass in future without a review. */
import { type Decision, type GrantInput, type IntentAnswer, limits } from "@countersign/contract";
import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextArea, TextField } from "../parts/forms/field.tsx";
import { Failed } from "../parts/states.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { documentInForce } from "../policies/in-force.ts";
import { isOfPack } from "./override.tsx";

type Intent = IntentAnswer["intent"];

interface GrantLimits {
  readonly times_max: number;
  readonly hours_max: number;
}

interface Shown {
  readonly decision: Decision;
  readonly intent: Intent;
}

/** Shows a button if each rule that held the action permits grants. */
export function AllowSimilar({ decision, intent }: Shown) {
  const may = useMay("reviewer");
  const [asking, setAsking] = useState(false);
  const permitted = usePermitted(decision, may && decision.verdict === "escalate" && decision.enforced);
  if (permitted === null) return null;
  return (
    <div className="row">
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Allow similar actions…
      </button>
      {asking && (
        <GrantDialog decision={decision} intent={intent} permitted={permitted} onClose={() => setAsking(false)} />
      )}
    </div>
  );
}

/** Returns the smallest limits of the rules that held the action; null: not known yet, or a rule permits no grants. */
function usePermitted({ reasons }: Decision, wanted: boolean): GrantLimits | null {
  const client = useClient();
  const holding = reasons.filter(({ effect }) => effect === "escalate");
  // The rules of packs permit no grants, and have no document of their own.
  const own = holding.flatMap((reason) => (reason.policy_id === null || isOfPack(reason) ? [] : [reason.policy_id]));
  const usable = wanted && holding.length > 0 && own.length === holding.length;
  const policies = useQueries({
    queries: (usable ? [...new Set(own)] : []).map((policy_id) => ({
      queryKey: ["policies", "in force", policy_id],
      queryFn: async () => ({ policy_id, document: await documentInForce(client, policy_id) }),
    })),
  });
  if (!usable) return null;
  const found = policies.map(({ data }) => {
    const spec = data?.document?.["spec"] as { readonly escalation?: { readonly grants?: GrantLimits } } | undefined;
    return spec?.escalation?.grants;
  });
  const known = found.flatMap((each) => (each === undefined ? [] : [each]));
  if (known.length < found.length) return null;
  return {
    times_max: Math.min(...known.map(({ times_max }) => times_max)),
    hours_max: Math.min(...known.map(({ hours_max }) => hours_max)),
  };
}

function GrantDialog({
  decision,
  intent,
  permitted: { times_max, hours_max },
  onClose,
}: Shown & { readonly permitted: GrantLimits; readonly onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const numbers = numbersOf(intent);
  const [times, setTimes] = useState(String(Math.min(3, times_max)));
  const [hours, setHours] = useState(String(Math.min(8, hours_max)));
  const [most, setMost] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(numbers.map(([path, value]) => [path, String(value)])),
  );
  const [reason, setReason] = useState("");
  const target = intent.action.target?.identifier;
  const scope: GrantInput["scope"] = {
    agent_id: intent.agent.id,
    verb: intent.action.verb,
    ...(target === undefined ? {} : { target }),
    at_most: Object.entries(most).flatMap(([path, text]) => (text === "" ? [] : [{ path, value: Number(text) }])),
  };
  const act = useMutation({
    mutationFn: () => {
      const until = new Date(nowMs() + Number(hours) * 3_600_000).toISOString();
      return client.createGrant({ intent_id: decision.intent_id, scope, times: Number(times), until, reason });
    },
    onSuccess: (grant) => {
      toasts.done("Allowed in advance", grant.summary);
      onClose();
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ["audit"] });
      void queries.invalidateQueries({ queryKey: ["grants"] });
    },
  });
  return (
    <Dialog title="Allow similar actions" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!act.isPending) act.mutate();
        }}
      >
        <p>
          {`The agent ${scope.agent_id} may run ${scope.verb}${target === undefined ? " on any target" : ` on ${target}`} ` +
            "without a review, within the limits below. Every parameter without a limit is free. This does not decide the present action."}
        </p>
        {numbers.map(([path]) => (
          <TextField
            key={path}
            label={`${path} at most (empty: free)`}
            type="number"
            min={0}
            step="any"
            value={most[path] ?? ""}
            onChange={(event) => setMost({ ...most, [path]: event.target.value })}
          />
        ))}
        <TextField
          label={`Times (at most ${times_max})`}
          type="number"
          required
          min={1}
          max={times_max}
          value={times}
          onChange={(event) => setTimes(event.target.value)}
        />
        <TextField
          label={`Hours (at most ${hours_max})`}
          type="number"
          required
          min={1}
          max={hours_max}
          value={hours}
          onChange={(event) => setHours(event.target.value)}
        />
        <TextArea
          label="Reason (kept in the audit trail)"
          required
          maxLength={limits.comment_chars_max}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        {act.error !== null && <Failed error={act.error} />}
        <FormActions action="Allow" disabled={act.isPending || reason.trim() === ""} onClose={onClose} />
      </form>
    </Dialog>
  );
}

/** Returns the numbers at the top of payload.content that a grant can limit, with their JSON Pointers. */
function numbersOf({ payload }: Intent): readonly (readonly [path: string, value: number])[] {
  return Object.entries(payload?.content ?? {})
    .flatMap(([name, value]) =>
      typeof value === "number" && value >= 0
        ? [[`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, value] as const]
        : [],
    )
    .slice(0, limits.grant_bounds_max);
}
