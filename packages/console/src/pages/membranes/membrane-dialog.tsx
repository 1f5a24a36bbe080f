import {
  type Confirm,
  limits,
  type Membrane,
  type MembraneChange,
  type Pace,
  type Reviewer,
  roleMeets,
  roleNames,
} from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useClient } from "../../api/session.tsx";
import { Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../../parts/forms/field.tsx";
import { usePacks } from "../../parts/packs.ts";
import { changedOnly } from "../../parts/records/changed-only.ts";
import { personText, useEverybody } from "../../parts/records/who.tsx";
import { Failed, Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { useToasts } from "../../parts/toasts.tsx";

/** `membrane` null: a new one. `at`: the field that gets the focus. */
export function MembraneDialog({
  membrane,
  at,
  onClose,
}: {
  readonly membrane: Membrane | null;
  readonly at?: "reviewers";
  readonly onClose: () => void;
}) {
  const packs = usePacks();
  const save = useSave(membrane, packs.data !== undefined, onClose);
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
          <VerdictFields membrane={membrane} />
          <RiskFields membrane={membrane} />
          <ReviewFields membrane={membrane} />
          <TokenFields membrane={membrane} />
        </div>
        <ReviewerChoice
          chosen={membrane?.escalation.reviewers ?? [{ type: "role", id: "reviewer" }]}
          focused={at === "reviewers"}
        />
        <fieldset className="stack tight">
          <legend>Packs</legend>
          <Loaded query={packs} what="the packs">
            {(all) => <PackChoice packs={all} chosen={membrane?.packs ?? []} />}
          </Loaded>
        </fieldset>
        {save.error !== null && <Failed error={save.error} />}
        <FormActions action="Save" disabled={save.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

const riskOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));

/** Without `with_packs` the packs stay unchanged. */
function inputOf(form: FormData, membrane: Membrane | null, with_packs: boolean): MembraneChange & { name: string } {
  const text = (name: string) => String(form.get(name) ?? "");
  const pace = paceOf(text("min_seconds"), text("reason_from"));
  const confirm = text("confirm") === "" ? null : (text("confirm") as Confirm);
  return {
    name: text("name").trim(),
    default_verdict: text("default_verdict") as Membrane["default_verdict"],
    thresholds: { escalate_at: riskOf(text("escalate_at")), block_at: riskOf(text("block_at")) },
    agent_token: {
      required: form.has("token_required"),
      on_invalid: text("token_on_invalid") as Membrane["agent_token"]["on_invalid"],
      once: form.has("token_once"),
    },
    ...(with_packs ? { packs: form.getAll("packs").map(String) } : {}),
    escalation: {
      reviewers: form.getAll("reviewers").map((id) => reviewerOf(String(id))),
      timeout_seconds: Math.round(Number(text("hours")) * 3_600),
      on_timeout: text("on_timeout") as "block",
      quorum: Number(text("quorum")),
      ...(pace === null && membrane?.escalation.pace == null ? {} : { pace }),
      ...(confirm === null && membrane?.escalation.confirm == null ? {} : { confirm }),
    },
  };
}

/** Roles have names without an underscore; ids of people and keys have one. */
function reviewerOf(id: string): Reviewer {
  return { type: id.includes("_") ? "user" : "role", id } as Reviewer;
}

/** Null: no pace limit. */
function paceOf(min_seconds: string, reason_from: string): Pace | null {
  if (min_seconds === "" && reason_from === "") return null;
  return {
    ...(min_seconds === "" ? {} : { min_seconds: Number(min_seconds) }),
    ...(reason_from === "" ? {} : { reason_from: Number(reason_from) }),
  };
}

/** Until the form shows the packs, saving must not switch them off. */
function useSave(membrane: Membrane | null, packs_shown: boolean, onSaved: () => void) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: async (form: FormData) => {
      const input = inputOf(form, membrane, packs_shown);
      return membrane === null
        ? client.createMembrane(input)
        : client.changeMembrane(
            membrane.membrane_id,
            // Reads the membrane again, because packs are saved as a whole and others may have changed them.
            changedOnly(input, membrane, await client.getMembrane(membrane.membrane_id)),
          );
    },
    onSuccess: ({ warnings }) => {
      toasts.done(membrane === null ? "Membrane added, in shadow" : "Saved", "It applies from the next decision on.");
      for (const { message } of warnings) toasts.told("Policies may cost too much together", message);
      void queries.invalidateQueries({ queryKey: ["membranes"] });
      onSaved();
    },
  });
}

const reviewingRoles = roleNames.filter((role) => roleMeets(role, ["reviewer"]));

/** Chooses who may decide held actions. Keys and people who left stay as long as they are ticked. */
function ReviewerChoice({ chosen, focused }: { readonly chosen: readonly Reviewer[]; readonly focused: boolean }) {
  const place = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (focused) place.current?.querySelector("input")?.focus();
  }, [focused]);
  const everybody = useEverybody(true, true);
  const people = [...(everybody.data?.values() ?? [])].filter(({ role }) => roleMeets(role, ["reviewer"]));
  const named = people.map((user) => [user.user_id, personText(user)] as const);
  const others = chosen.flatMap(({ type, id }) =>
    type === "user" && named.every(([user_id]) => user_id !== id) ? [[id, id] as const] : [],
  );
  const choices = [
    ...reviewingRoles.map((role) => [role, `everyone with the role ${role}`] as const),
    ...named,
    ...others,
  ];
  return (
    <fieldset className="stack tight" ref={place}>
      <legend>Reviewers</legend>
      <div className="grid-2">
        {choices.map(([id, text]) => (
          <label key={id} className="check small">
            <input type="checkbox" name="reviewers" value={id} defaultChecked={chosen.some((each) => each.id === id)} />
            <Data text={text} />
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface FieldsProps {
  readonly membrane: Membrane | null;
}

function VerdictFields({ membrane }: FieldsProps) {
  return (
    <>
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
        defaultValue={membrane?.escalation.on_timeout ?? "block"}
        options={[
          ["block", "block"],
          ["approve", "approve"],
        ]}
      />
    </>
  );
}

function RiskFields({ membrane }: FieldsProps) {
  const range = { type: "number", step: "any", min: 0, max: 1 } as const;
  return (
    <>
      <TextField
        label="Ask a person from risk"
        hint="0 to 1; empty: never"
        name="escalate_at"
        {...range}
        defaultValue={membrane?.thresholds.escalate_at ?? ""}
      />
      <TextField
        label="Block from risk"
        hint="0 to 1; empty: never. Blocked actions are not reviewed"
        name="block_at"
        {...range}
        defaultValue={membrane?.thresholds.block_at ?? ""}
      />
    </>
  );
}

function ReviewFields({ membrane }: FieldsProps) {
  const terms = membrane?.escalation;
  return (
    <>
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
      <TextField
        label="Seconds within which an approval needs a reason"
        hint="counted from when the case was shown; empty: never"
        name="min_seconds"
        type="number"
        min={1}
        max={limits.pace_min_seconds_max}
        defaultValue={terms?.pace?.min_seconds ?? ""}
      />
      <TextField
        label="Approval within five minutes that needs a reason"
        hint="10: from the 10th approval on, a reviewer must give a reason; empty: never"
        name="reason_from"
        type="number"
        min={1}
        max={limits.pace_reason_from_max}
        defaultValue={terms?.pace?.reason_from ?? ""}
      />
      <SelectField
        label="Reviewers confirm each ruling"
        hint="such rulings are made in this console only, and no time limit approves"
        name="confirm"
        defaultValue={terms?.confirm ?? ""}
        options={[
          ["", "no"],
          ["totp", "with a code of their authenticator"],
          ["passkey", "with a passkey, which signs the ruling"],
        ]}
      />
    </>
  );
}

function TokenFields({ membrane }: FieldsProps) {
  const terms = membrane?.agent_token;
  return (
    <>
      <SelectField
        label="When an agent's token is invalid"
        name="token_on_invalid"
        defaultValue={terms?.on_invalid ?? "refuse"}
        options={[
          ["refuse", "refuse the request"],
          ["unknown", "decide, with the identity unknown"],
        ]}
      />
      <div className="stack tight">
        <label className="check small">
          <input type="checkbox" name="token_required" defaultChecked={terms?.required ?? false} />
          <span>Every action needs a token</span>
        </label>
        <label className="check small">
          <input type="checkbox" name="token_once" defaultChecked={terms?.once ?? false} />
          <span>A token counts once</span>
        </label>
      </div>
    </>
  );
}

function PackChoice({
  packs,
  chosen,
}: {
  readonly packs: readonly { readonly name: string; readonly title: string }[];
  readonly chosen: readonly string[];
}) {
  return (
    <div className="grid-2">
      {packs.map((pack) => (
        <label key={pack.name} className="check small">
          <input type="checkbox" name="packs" value={pack.name} defaultChecked={chosen.includes(pack.name)} />
          <span>
            {pack.name} <span className="muted">{pack.title}</span>
          </span>
        </label>
      ))}
    </div>
  );
}
