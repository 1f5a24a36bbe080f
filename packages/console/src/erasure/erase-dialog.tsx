import { type Erasure, type ErasureCounts, limits, type SubjectKind } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient } from "../api/session.tsx";
import { Dialog, FormActions } from "../parts/forms/dialog.tsx";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { Failed } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { useToasts } from "../parts/toasts.tsx";

export const subjectKinds = [
  ["person", "Person: on whose behalf agents act"],
  ["target", "Target of actions"],
  ["session", "Run of an agent"],
  ["agent", "Agent"],
  ["value", "Any record with this text"],
] as const satisfies readonly (readonly [SubjectKind, string])[];

export interface ErasedThing {
  readonly kind: SubjectKind | "intent";
  readonly subject: string;
}

const countNames: readonly (readonly [keyof ErasureCounts, string])[] = [
  ["intents", "Decisions"],
  ["entries", "Other records"],
  ["reviews", "Reviews"],
  ["deliveries", "Bodies of deliveries"],
  ["grants", "Grants"],
  ["overrides", "Overrides"],
  ["facts", "Stored facts"],
  ["counters", "Keys of counters"],
  ["held", "Kept by legal holds"],
];

/** Asks for the subject, counts, and erases after the person typed the subject again. `given`: nothing to choose. */
export function EraseDialog({ given, onClose }: { readonly given?: ErasedThing; readonly onClose: () => void }) {
  const client = useClient();
  const [counted, setCounted] = useState<{ readonly thing: ErasedThing; readonly erasure: Erasure } | null>(null);
  const count = useMutation({
    mutationFn: async (thing: ErasedThing) => {
      const dry = { dry_run: "true" } as const;
      const erasure =
        thing.kind === "intent"
          ? await client.eraseIntent(thing.subject, dry)
          : await client.eraseSubject(thing.kind, thing.subject, dry);
      return { thing, erasure };
    },
    onSuccess: setCounted,
  });
  if (counted !== null) return <ConfirmErasure {...counted} onClose={onClose} />;
  return (
    <Dialog title="Erase content" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          const kind = String(form.get("kind")) as SubjectKind;
          count.mutate(given ?? { kind, subject: String(form.get("subject") ?? "").trim() });
        }}
      >
        <p>
          What decisions were about is removed. Ids, times, verdicts and figures stay. Nobody can undo it. First, the
          service counts what would go.
        </p>
        {given === undefined && (
          <>
            <SelectField label="What" name="kind" options={subjectKinds} />
            <TextField
              label="Its id or text"
              name="subject"
              hint="Letter for letter."
              maxLength={limits.target_identifier_chars_max}
              required
            />
          </>
        )}
        {count.error !== null && <Failed error={count.error} />}
        <FormActions action="Count" disabled={count.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function ConfirmErasure({
  thing: { kind, subject },
  erasure: { counts },
  onClose,
}: {
  readonly thing: ErasedThing;
  readonly erasure: Erasure;
  readonly onClose: () => void;
}) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [typed, setTyped] = useState("");
  const erase = useMutation({
    mutationFn: () => (kind === "intent" ? client.eraseIntent(subject) : client.eraseSubject(kind, subject)),
    onSuccess: ({ status, erasure_id, subject_salt }) => {
      const state = status === "done" ? "The content is gone." : "The erasure goes on in the background.";
      toasts.told(`Erasure ${erasure_id}`, `${state} Keep this salt to prove later what was erased: ${subject_salt}`);
      void queries.invalidateQueries();
      onClose();
    },
  });
  return (
    <Dialog title="Erase content" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          erase.mutate();
        }}
      >
        <dl className="pairs">
          {countNames.map(([name, shown]) => (
            <Pair key={name} name={shown} count={counts[name]} />
          ))}
        </dl>
        <p>
          Open reviews of these decisions are closed as blocked. To erase, type <Data text={subject} /> again.
        </p>
        <TextField label="Type it again" value={typed} onChange={({ target }) => setTyped(target.value)} />
        {erase.error !== null && <Failed error={erase.error} />}
        <FormActions action="Erase" disabled={erase.isPending || typed.trim() !== subject} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function Pair({ name, count }: { readonly name: string; readonly count: number }) {
  if (count === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{count.toLocaleString("en-US")}</dd>
    </>
  );
}
