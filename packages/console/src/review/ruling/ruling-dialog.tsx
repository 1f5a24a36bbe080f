import type { Outcome } from "@countersign/contract";
import { useRef } from "react";
import { Dialog } from "../../parts/forms/dialog.tsx";
import { Reviewers } from "../../parts/records/who.tsx";
import { ChangesOf } from "../case.tsx";
import { EditParameters } from "../changes/edit-parameters.tsx";
import { useToolSchema } from "../changes/parameter-form.tsx";
import { ConfirmFields } from "./confirm-fields.tsx";
import { CaseOf, NeverShown, Wrong } from "./dialog-parts.tsx";
import { type RulingForm, type RulingProps, useRulingForm } from "./ruling-form.ts";
import { RulingTexts } from "./ruling-texts.tsx";

const titles: Record<Outcome, string> = {
  approve: "Approve this action",
  approve_modified: "Approve with changes",
  block: "Block this action",
};
const buttons: Record<Outcome, string> = {
  approve: "Approve",
  approve_modified: "Approve changed action",
  block: "Block",
};

export function RulingDialog(props: RulingProps) {
  const { outcome, escalation, content, left_out, offered } = props;
  const ruling = useRulingForm(props);
  const schema = useToolSchema(escalation.membrane_id, escalation.action.verb, ruling.edits);
  const { act, parameters, same } = ruling;
  const form = useRef<HTMLFormElement>(null);
  return (
    <Dialog
      title={titles[outcome]}
      // Stays open during the request, because the answer belongs to this form.
      onClose={act.isPending ? null : ruling.leave}
      onConfirm={() => form.current?.requestSubmit()}
      broad={outcome === "approve_modified"}
    >
      <form
        ref={form}
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          ruling.submit();
        }}
      >
        <CaseOf escalation={escalation} />
        {outcome !== "block" && left_out > 0 && <NeverShown chars={left_out} />}
        {ruling.open && !ruling.mine && (
          <div className="banner warn" role="status">
            <div>
              <strong>An operator has reassigned this meanwhile</strong>
              Decided by: <Reviewers reviewers={escalation.reviewers} />.
            </div>
          </div>
        )}
        {same !== null && <ChangesOf changes={same} content={content} />}
        {ruling.edits && (
          <EditParameters
            content={content ?? {}}
            text={parameters.text}
            edited={parameters.edited}
            offered={offered}
            schema={schema}
            onText={ruling.write}
          />
        )}
        <RulingTexts
          {...{ comment: ruling.comment, message: ruling.message, autoFocus: !ruling.edits }}
          {...{ onComment: ruling.setComment, onMessage: ruling.setMessage }}
        />
        <ConfirmFields {...{ escalation, asked: ruling.asked, code: ruling.code, onCode: ruling.setCode }} />
        {act.error !== null && <Wrong error={act.error} />}
        {(ruling.too_fast || ruling.second_person) && (
          <label className="check">
            <input
              type="checkbox"
              checked={ruling.second_person}
              onChange={(event) => ruling.setSecondPerson(event.target.checked)}
            />
            {" Without a reason: ask for one more person"}
          </label>
        )}
        {ruling.unsent !== null && <NothingSent because={ruling.unsent} />}
        <Buttons outcome={outcome} ruling={ruling} />
      </form>
    </Dialog>
  );
}

function NothingSent({ because }: { readonly because: string }) {
  return (
    <div className="banner warn" role="alert">
      <div>
        <strong>Nothing was sent</strong>
        {because}
      </div>
    </div>
  );
}

function Buttons({ outcome, ruling }: { readonly outcome: Outcome; readonly ruling: RulingForm }) {
  return (
    <div className="actions">
      <button type="button" className="button" disabled={ruling.act.isPending} onClick={ruling.leave}>
        {ruling.open ? "Cancel" : "Close"}
      </button>
      <button type="submit" className={outcome === "block" ? "button bad" : "button primary"} disabled={!ruling.ready}>
        {buttons[outcome]} <kbd>Ctrl ↵</kbd>
      </button>
    </div>
  );
}
