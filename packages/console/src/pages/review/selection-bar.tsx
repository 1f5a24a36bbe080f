import { moneyText } from "../../parts/money.ts";
import { type Group, sumOf } from "../../review/escalation-data.ts";
import { Marks } from "../../review/marks/marks.tsx";
import type { Selection } from "./selection.ts";

/** Offers what a reviewer can do with all selected reviews. Each still gets its own ruling. */
export function SelectionBar({
  selection,
  listed,
  onRule,
}: {
  readonly selection: Selection;
  /** Number of reviews in the list. */
  readonly listed: number;
  readonly onRule: (group: Group) => void;
}) {
  const { members } = selection;
  if (members.length === 0) return null;
  const sum = sumOf(members);
  const group: Group = { key: "selected", by: "chosen", members };
  return (
    <section className="selection" aria-label="Selected">
      <strong aria-live="polite">
        {`${members.length} selected${sum === null ? "" : `, ${moneyText(sum)} in all`}`}
      </strong>
      <button type="button" className="button small primary" onClick={() => onRule(group)}>
        {`Decide ${members.length}`} <kbd>g</kbd>
      </button>
      <Marks members={members} onDone={selection.clear} />
      <span className="grow" />
      {members.length < listed && (
        <button type="button" className="button small quiet" onClick={selection.all}>
          {`Select all ${listed}`}
        </button>
      )}
      <button type="button" className="button small quiet" onClick={selection.clear}>
        Clear
      </button>
    </section>
  );
}
