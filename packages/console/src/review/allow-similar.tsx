import { type Decision, type IntentAnswer, limits } from "@countersign/contract";
import { useMutation, useQueries, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { TextArea, TextField } from "../parts/forms/field.tsx";
import { Failed } from "../parts/states.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { documentInForce } from "../policies/in-force.ts";
import { isOfPack } from "../policies/of-pack.ts";

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
  // The rules of packs permit no grants, and have no document.
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

/** The form as text. `most`: the bound of each parameter by its path; empty: the parameter is free. */
interface Draft {
  readonly times: string;
  readonly hours: string;
  readonly most: Readonly<Record<string, string>>;
  readonly reason: string;
}

function GrantDialog({
  decision,
  intent,
  permitted,
  onClose,
}: Shown & { readonly permitted: GrantLimits; readonly onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>(() => ({
    times: String(Math.min(3, permitted.times_max)),
    hours: String(Math.min(8, permitted.hours_max)),
    most: Object.fromEntries(numbersOf(intent).map(([path, value]) => [path, String(value)])),
    reason: "",
  }));
  const act = useGrant(decision.intent_id, intent, draft, onClose);
  const { agent, action } = intent;
  const target = action.target?.identifier;
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
          {`The agent ${agent.id} may run ${action.verb} on ${target ?? "any target"} without a review, within the limits below. ` +
            "Every parameter without a limit is free. The grant does not decide the current action."}
        </p>
        <LimitFields draft={draft} permitted={permitted} onChange={(change) => setDraft({ ...draft, ...change })} />
        {act.error !== null && <Failed error={act.error} />}
        <FormActions action="Allow" disabled={act.isPending || draft.reason.trim() === ""} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function useGrant(intent_id: string, { agent, action }: Intent, draft: Draft, onClose: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const target = action.target?.identifier;
  return useMutation({
    mutationFn: () => {
      const at_most = Object.entries(draft.most).flatMap(([path, text]) =>
        text === "" ? [] : [{ path, value: Number(text) }],
      );
      const scope = { agent_id: agent.id, verb: action.verb, ...(target === undefined ? {} : { target }), at_most };
      const until = new Date(nowMs() + Number(draft.hours) * 3_600_000).toISOString();
      return client.createGrant({ intent_id, scope, times: Number(draft.times), until, reason: draft.reason.trim() });
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
}

function LimitFields({
  draft,
  permitted,
  onChange,
}: {
  readonly draft: Draft;
  readonly permitted: GrantLimits;
  readonly onChange: (change: Partial<Draft>) => void;
}) {
  const { times, hours, most, reason } = draft;
  return (
    <>
      {Object.entries(most).map(([path, value]) => (
        <TextField
          key={path}
          label={`${path} at most (empty: free)`}
          type="number"
          min={0}
          step="any"
          value={value}
          onChange={(event) => onChange({ most: { ...most, [path]: event.target.value } })}
        />
      ))}
      <TextField
        label={`Times (at most ${permitted.times_max})`}
        type="number"
        required
        min={1}
        max={permitted.times_max}
        value={times}
        onChange={(event) => onChange({ times: event.target.value })}
      />
      <TextField
        label={`Hours (at most ${permitted.hours_max})`}
        type="number"
        required
        min={1}
        max={permitted.hours_max}
        value={hours}
        onChange={(event) => onChange({ hours: event.target.value })}
      />
      <TextArea
        label="Reason (kept in the audit trail)"
        required
        maxLength={limits.comment_chars_max}
        value={reason}
        onChange={(event) => onChange({ reason: event.target.value })}
      />
    </>
  );
}

/** Returns the top-level numbers of payload.content, which a grant can limit, with their JSON Pointers. */
function numbersOf({ payload }: Intent): readonly (readonly [path: string, value: number])[] {
  return Object.entries(payload?.content ?? {})
    .flatMap(([name, value]) =>
      typeof value === "number" && value >= 0
        ? [[`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, value] as const]
        : [],
    )
    .slice(0, limits.grant_bounds_max);
}
