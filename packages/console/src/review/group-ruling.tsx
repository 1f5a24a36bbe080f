import type { Escalation } from "@countersign/contract";
import { useEffect, useMemo, useRef } from "react";
import { adviceOn } from "../api/advice.ts";
import { focusIsLost } from "../browser/focus.ts";
import { Dialog } from "../parts/forms/dialog.tsx";
import { moneyText } from "../parts/money.ts";
import { Meter } from "../parts/records/decision-parts.tsx";
import { Failed } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";
import { CountsLeftOut, useCountLeftOut } from "../parts/tables/left-out.tsx";
import { Wide } from "../parts/tables/scrolls.tsx";
import { type Group, sumOf, useDifferences } from "./escalation-data.ts";
import { columnsOf } from "./group/columns.ts";
import { type GroupForm, useGroupForm } from "./group/group-form.ts";
import { Member } from "./group/member.tsx";
import { waiting } from "./group-run.ts";
import { NeverShown } from "./ruling/dialog-parts.tsx";
import { RulingTexts } from "./ruling/ruling-texts.tsx";

/** Decides the members that the group had when the dialog opened, because the reviewer has not seen later ones. */
export function GroupRuling({
  group,
  onClose,
}: {
  readonly group: Group;
  /** Gets the ids of the closed escalations. */
  readonly onClose: (closed: readonly string[]) => void;
}) {
  const { members, by } = group;
  const form = useGroupForm(group, onClose);
  const { run, chosen, begun } = form;
  const { data: compared, error, refetch } = useDifferences(members);
  const { left_out, tell } = useCountLeftOut();
  const approvable = !begun && compared !== undefined && chosen.length > 0;
  return (
    <Dialog
      title={`Decide ${members.length} ${titles[by]}`}
      onClose={run.running ? run.stop : form.close}
      onConfirm={() => (form.finished ? form.close() : approvable && form.begin("approve"))}
      broad
    >
      <div className="stack">
        <p aria-live="polite">{`${alike[by]} ${inDetail(compared)} Each gets its own vote from you.`}</p>
        <InAll members={members} chosen={chosen} />
        {compared === undefined && error !== null && <Failed error={error} retry={() => void refetch()} />}
        <CountsLeftOut tell={tell}>
          <Members group={group} form={form} compared={compared} />
        </CountsLeftOut>
        {!begun && left_out > 0 && <NeverShown chars={left_out} />}
        {!begun && (
          <RulingTexts
            {...{ each: true, comment: form.comment, message: form.message }}
            {...{ onComment: form.setComment, onMessage: form.setMessage }}
          />
        )}
        {begun && <Progress over={form.over} of={chosen.length} running={run.running} />}
        {run.held !== null && <Held error={run.held} resting={run.running} />}
        <div className="actions">
          {begun ? <RunButtons form={form} /> : <BeginButtons form={form} compared={compared !== undefined} />}
        </div>
      </div>
    </Dialog>
  );
}

const titles = { kind: "similar actions", cause: "actions with the same cause", chosen: "selected actions" } as const;
const alike = {
  kind: "The same agent, tool and reason.",
  cause: "They wait for the same missing facts.",
  chosen: "You selected them.",
} as const;

function InAll({ members, chosen }: { readonly members: readonly Escalation[]; readonly chosen: readonly string[] }) {
  const sum = sumOf(members);
  if (sum === null) return null;
  const selected = members.filter(({ escalation_id }) => chosen.includes(escalation_id));
  return (
    <p>
      <strong>{moneyText(sumOf(selected) ?? 0)}</strong>
      {selected.length < members.length && ` of ${moneyText(sum)}`}
      {` at stake in ${selected.length} ${selected.length === 1 ? "action" : "actions"}`}
    </p>
  );
}

function Members({
  group: { members },
  form,
  compared,
}: {
  readonly group: Group;
  readonly form: GroupForm;
  readonly compared: ReturnType<typeof useDifferences>["data"];
}) {
  const { run, chosen, begun } = form;
  const columns = useMemo(() => (compared === undefined ? [] : columnsOf(compared.differences)), [compared]);
  const agents = new Set(members.map(({ agent_id }) => agent_id));
  return (
    <div className="group-members">
      <Wide label="Actions">
        <table className="list">
          <caption className="sr">The actions, with a column for each field in which they differ</caption>
          <thead>
            <tr>
              <th scope="col">Action</th>
              {columns.map(({ path, name, sum }) => (
                <th key={path} scope="col" title={path}>
                  <Data text={name} chars_max={40} more={false} />
                  {sum !== null && <span className="sum">{` Σ ${sum.toLocaleString("en")}`}</span>}
                </th>
              ))}
              <th scope="col">Ends</th>
            </tr>
          </thead>
          <tbody>
            {members.map((each) => (
              <Member
                key={each.escalation_id}
                escalation={each}
                apart={compared?.differences.get(each.intent_id)}
                columns={columns}
                agent={agents.size > 1}
                item={run.items.get(each.escalation_id) ?? waiting}
                chosen={chosen.includes(each.escalation_id)}
                mine={form.inHands(each)}
                fixed={begun}
                onToggle={() => form.toggle(each.escalation_id)}
              />
            ))}
          </tbody>
        </table>
      </Wide>
    </div>
  );
}

function Progress({ over, of, running }: { readonly over: number; readonly of: number; readonly running: boolean }) {
  const text = `${over} of ${of} done`;
  const line = useRef<HTMLParagraphElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pressed button goes when the run begins or ends
  useEffect(() => {
    if (focusIsLost()) line.current?.focus({ preventScroll: true });
  }, [running]);
  return (
    <div className="stack tight">
      <Meter share={over / Math.max(1, of)} hot={false} label={text} />
      <p role="status" tabIndex={-1} ref={line}>
        {text}
      </p>
    </div>
  );
}

function BeginButtons({ form, compared }: { readonly form: GroupForm; readonly compared: boolean }) {
  const count = form.chosen.length;
  return (
    <>
      <button type="button" className="button" onClick={form.close}>
        Cancel
      </button>
      <button
        type="button"
        className="button bad"
        disabled={count === 0}
        onClick={() => form.begin("block")}
      >{`Block ${count}`}</button>
      <button
        type="button"
        className="button good"
        disabled={count === 0 || !compared}
        onClick={() => form.begin("approve")}
      >
        {`Approve ${count}`} <kbd>Ctrl ↵</kbd>
      </button>
    </>
  );
}

function RunButtons({ form: { run, finished, goOn, close } }: { readonly form: GroupForm }) {
  return (
    <>
      {run.running && (
        <button type="button" className="button" onClick={run.stop}>
          Stop after this one
        </button>
      )}
      {!run.running && !finished && (
        <button type="button" className="button primary" onClick={goOn}>
          Go on
        </button>
      )}
      {!run.running && (
        <button type="button" className={finished ? "button primary" : "button"} onClick={close}>
          Close
        </button>
      )}
    </>
  );
}

/** Approving waits for the differences. */
function inDetail(compared: ReturnType<typeof useDifferences>["data"]): string {
  if (compared === undefined) return "Their differences are not known yet; approving needs them.";
  const { differences, withheld, changed } = compared;
  const differ = [...differences.values()].some(({ places }) => places.length > 0);
  const let_through = changed
    ? " Rules change the allowed parameters of some. The changes may differ, because each case has the rules of its own time: see the page of each."
    : "";
  if (withheld)
    return `${differ ? "Each one shows its differences, except redacted ones" : "Their visible parts are equal"}. Redacted values are not compared and may differ.${let_through}`;
  return `${differ ? "Each one shows its differences; all else is equal." : "They are exactly equal."}${let_through}`;
}

function Held({ error, resting }: { readonly error: unknown; readonly resting: boolean }) {
  const { title, todo } = adviceOn(error);
  return (
    <div className="banner warn" role="alert">
      <div>
        <strong>{title}</strong>
        {resting
          ? "It continues when the rate limit allows; finished rulings stay."
          : `${todo} Finished rulings stay, and no vote counts twice when you continue.`}
      </div>
    </div>
  );
}
