/** Asks what becomes of each thing that a person made, before the person is removed, demoted or leaves. */
import { all_others, limits, type MadeChoice, type MadeChoices, type MadeThing } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useState } from "react";
import { Data } from "../tables/data.tsx";
import { Time } from "../time.tsx";
import { Dialog } from "./dialog.tsx";

/** Returns the things that a refused removal lists; null: the error is another one. */
export function undecidedThings(error: unknown): readonly MadeThing[] | null {
  if (!(error instanceof ApiError)) return null;
  const [detail] = error.details;
  return detail?.code === "undecided" && Array.isArray(detail.made) ? (detail.made as MadeThing[]) : null;
}

const kinds = { api_key: "API key", invitation: "Invitation", webhook: "Webhook" } as const;

export function MadeDialog({
  things,
  action,
  busy,
  onConfirm,
  onClose,
}: {
  readonly things: readonly MadeThing[];
  readonly action: string;
  readonly busy: boolean;
  readonly onConfirm: (made: MadeChoices) => void;
  readonly onClose: () => void;
}) {
  const [chosen, setChosen] = useState<MadeChoices>({});
  const [first] = useState(things);
  // Another list came back, because the person goes on making things, or the list may not have all of them.
  const may_be_more = things !== first || things.length >= limits.made_choices_max;
  // A thing that ended since is not in the list any more: the service takes no choice for it.
  const listed = new Set([all_others, ...things.map(({ id }) => id)]);
  const choices = Object.fromEntries(Object.entries(chosen).filter(([id]) => listed.has(id)));
  const whole = all_others in choices || Object.keys(choices).length === things.length;
  const all = (choice: MadeChoice) => setChosen(Object.fromEntries(things.map(({ id }) => [id, choice])));
  return (
    <Dialog title="What becomes of what this person made?" onClose={onClose} broad>
      <p>These go on without the person. Say for each whether it is kept or revoked.</p>
      {may_be_more && <p>There may be more than this list shows. “Revoke all” revokes what it does not show, too.</p>}
      <div className="actions start">
        <button
          type="button"
          className="button small"
          onClick={() => (may_be_more ? setChosen({ [all_others]: "revoke" }) : all("revoke"))}
        >
          Revoke all
        </button>
        <button type="button" className="button small" onClick={() => all("keep")}>
          Keep all
        </button>
      </div>
      <ul className="plain stack">
        {things.map((thing) => (
          <Choice
            key={thing.id}
            thing={thing}
            chosen={chosen[thing.id] ?? chosen[all_others]}
            onChoose={(choice) => setChosen({ ...chosen, [thing.id]: choice })}
          />
        ))}
      </ul>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button bad" disabled={!whole || busy} onClick={() => onConfirm(choices)}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}

/** One thing of the list, with what becomes of it. */
function Choice({
  thing,
  chosen,
  onChoose,
}: {
  readonly thing: MadeThing;
  readonly chosen: MadeChoice | undefined;
  readonly onChoose: (choice: MadeChoice) => void;
}) {
  return (
    <li>
      <fieldset className="row">
        <legend>
          {`${kinds[thing.kind]} `}
          <Data text={thing.name ?? thing.id} />
          <span className="small muted">
            {", made "}
            <Time at={thing.created_at} />
          </span>
        </legend>
        {(["revoke", "keep"] as const).map((choice) => (
          <label key={choice} className="row">
            <input type="radio" name={thing.id} checked={chosen === choice} onChange={() => onChoose(choice)} />
            {choice === "keep" ? "Keep" : "Revoke"}
          </label>
        ))}
      </fieldset>
    </li>
  );
}
