/** Asks what happens to the things a person made, before the person is removed, demoted or leaves. */
import { all_others, limits, type MadeChoice, type MadeChoices, type MadeThing } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useState } from "react";
import { Data } from "../tables/data.tsx";
import { Time } from "../time.tsx";
import { Dialog } from "./dialog.tsx";

/** Returns the things listed in a refused removal; null for other errors. */
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
  // Another list arrived: the person made more things, or the list is incomplete.
  const may_be_more = things !== first || things.length >= limits.made_choices_max;
  // The service accepts no choice for a thing that has ended and left the list.
  const listed = new Set([all_others, ...things.map(({ id }) => id)]);
  const choices = Object.fromEntries(Object.entries(chosen).filter(([id]) => listed.has(id)));
  const whole = all_others in choices || Object.keys(choices).length === things.length;
  const all = (choice: MadeChoice) => setChosen(Object.fromEntries(things.map(({ id }) => [id, choice])));
  return (
    <Dialog title="What happens to the things this person made?" onClose={onClose} broad>
      <p>They remain without the person. Keep or revoke each one.</p>
      {may_be_more && <p>This list may be incomplete. “Revoke all” also revokes things it does not show.</p>}
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
