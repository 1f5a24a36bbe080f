import { type Counter, type CounterAdjustmentInput, type CounterRequest, limits } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useClient } from "../../api/session.tsx";
import { Dialog, FormActions } from "../../parts/forms/dialog.tsx";
import { TextField } from "../../parts/forms/field.tsx";
import { Who } from "../../parts/records/who.tsx";
import { Failed } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { useToasts } from "../../parts/toasts.tsx";
import { grantText } from "./budget-text.ts";

export interface Adjusting {
  readonly counter: Counter;
  readonly kind: CounterAdjustmentInput["kind"];
  /** The request of another person, which this person confirms. */
  readonly confirmed: CounterRequest | null;
}

const titles = { grant: "Grant more", reset: "Reset this budget" } as const;
const effects = {
  grant: "The limit is reached later, until the grant leaves the window.",
  reset: "Actions and grants so far count no more. Actions that wait for people still count.",
} as const;

export function AdjustDialog({
  adjusting: { counter, kind, confirmed },
  membrane_id,
  onClose,
}: {
  readonly adjusting: Adjusting;
  /** Undefined: the default one. */
  readonly membrane_id: string | undefined;
  readonly onClose: () => void;
}) {
  const adjust = useAdjust(counter, kind, membrane_id, onClose);
  const action = confirmed === null ? titles[kind] : "Confirm";
  return (
    <Dialog title={confirmed === null ? titles[kind] : `Confirm: ${titles[kind].toLowerCase()}`} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          adjust.mutate(amountsIn(new FormData(event.currentTarget), confirmed));
        }}
      >
        <p>
          <span className="mono">{counter.name}</span>
          {" of "}
          <Data text={counter.key.map(String).join(", ")} chars_max={300} />
          {`. ${effects[kind]}`}
        </p>
        {confirmed !== null && (
          <p>
            <Who id={confirmed.by} />
            {kind === "grant" ? ` asked to grant ${grantText(confirmed)} more.` : " asked to reset it."}
          </p>
        )}
        {kind === "grant" && confirmed === null && <GrantFields value={counter.value} />}
        <TextField
          label="Reason"
          name="reason"
          hint="Written to the audit trail."
          maxLength={limits.comment_chars_max}
          required
        />
        {adjust.error !== null && <Failed error={adjust.error} />}
        <FormActions action={action} disabled={adjust.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function GrantFields({ value }: Pick<Counter, "value">) {
  return (
    <>
      {value !== null && (
        <TextField
          label="More of the sum"
          name="amount"
          type="number"
          min="0.000001"
          max={limits.counter_grant_amount_max}
          step="any"
          hint={
            <>
              {"The counter adds up "}
              <Data text={value} chars_max={200} />
              {". Empty: only more actions."}
            </>
          }
        />
      )}
      <TextField
        label="More actions"
        name="actions"
        type="number"
        min="1"
        max={limits.counter_grant_actions_max}
        step="1"
        required={value === null}
      />
    </>
  );
}

function amountsIn(form: FormData, confirmed: CounterRequest | null) {
  const given = (name: string): number | null => {
    const text = String(form.get(name) ?? "").trim();
    return text === "" ? null : Number(text);
  };
  const { amount, actions } = confirmed ?? { amount: given("amount"), actions: given("actions") };
  return {
    reason: String(form.get("reason") ?? "").trim(),
    ...(amount === null ? {} : { amount }),
    ...(actions === null ? {} : { actions }),
  };
}

function useAdjust(
  { name, key, pipeline_mode }: Counter,
  kind: CounterAdjustmentInput["kind"],
  membrane_id: string | undefined,
  onDone: () => void,
) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: (terms: Pick<CounterAdjustmentInput, "reason" | "amount" | "actions">) =>
      client.adjustCounter(name, {
        ...(membrane_id === undefined ? {} : { membrane_id }),
        ...{ mode: pipeline_mode, key, kind, ...terms },
      }),
    onSuccess: ({ adjusted }) => {
      if (adjusted) toasts.done(kind === "grant" ? "Granted" : "Reset", "It applies from the next decision on.");
      else toasts.told("A second person must confirm", "Nothing changes until a different operator confirms it here.");
      onDone();
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ["counters"] }),
  });
}
