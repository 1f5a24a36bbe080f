import type { Policy } from "@countersign/contract";
import { Link, useBlocker, useLocation } from "@tanstack/react-router";
import { useMay } from "../../api/session.tsx";
import { CodeEditor } from "../../policies/code-editor.tsx";
import type { Mark } from "../../policies/document-text.ts";
import { type Checked, useCheck } from "./policy-check.ts";
import { type PolicyText, usePolicyText } from "./policy-text.ts";
import { NewerVersionQuestion, SaveFailed, useSavePolicy } from "./save-policy.tsx";

const reviewers = /(?<=^\s*)reviewers:/m;

/** `policy` null: a new one. */
export function Editor({ policy }: { readonly policy: Policy | null }) {
  const may = useMay("admin");
  const written = usePolicyText(policy);
  const { text, dirty, restored } = written;
  const checked = useCheck(text);
  const { save, newer, setNewer } = useSavePolicy(policy, written);
  const { at } = useLocation().search as { readonly at?: string };
  useBlocker({
    shouldBlockFn: () => dirty && !confirm("Leave without saving your text?"),
    enableBeforeUnload: () => dirty,
  });
  return (
    <section className="card stack tight" aria-label="Policy text">
      <CodeEditor
        text={text}
        onChange={written.setText}
        marks={checked.marks}
        label="Policy document, YAML"
        readOnly={!may}
        begins={at === "reviewers" ? reviewers : policy === null && !restored ? "all" : null}
      />
      <div className="row between">
        <p className="small" role="status">
          {statusText(checked)}
        </p>
        {may && (
          <EditorButtons
            policy={policy}
            written={written}
            busy={save.isPending}
            onSave={(activates) => save.mutate({ over: written.begun.current, activates })}
          />
        )}
      </div>
      {restored && dirty && (
        <p className="small">Your unsaved text from an earlier visit is back. “Take back” drops it.</p>
      )}
      {may && dirty && checked.has_comments && (
        <p className="small">Comments are not saved: the service keeps the document, not its text.</p>
      )}
      {newer !== null && (
        <NewerVersionQuestion
          version={newer}
          busy={save.isPending}
          onConfirm={() => save.mutate({ over: newer, activates: false })}
          onClose={() => setNewer(null)}
        />
      )}
      {checked.marks.length > 0 && <Marks marks={checked.marks} text={text} />}
      {save.error !== null && <SaveFailed error={save.error} />}
      {policy === null && (
        <p className="small muted">
          Before it decides anything, “Save and activate” shows what it would have done in the last 7 days. Or save it
          and run a <Link to="/backtest">backtest</Link>.
        </p>
      )}
    </section>
  );
}

function EditorButtons({
  policy,
  written: { restored, dirty, takeBack },
  busy,
  onSave,
}: {
  readonly policy: Policy | null;
  readonly written: PolicyText;
  readonly busy: boolean;
  readonly onSave: (activates: boolean) => void;
}) {
  const unsavable = busy || (policy !== null && !dirty);
  return (
    <span className="row">
      {(policy !== null || restored) && dirty && (
        <button type="button" className="button" onClick={takeBack}>
          Take back
        </button>
      )}
      <button type="button" className="button" disabled={unsavable} onClick={() => onSave(false)}>
        {policy === null ? "Save policy" : "Save new version"}
      </button>
      <button type="button" className="button primary" disabled={unsavable} onClick={() => onSave(true)}>
        Save and activate …
      </button>
    </span>
  );
}

function statusText({ error, checking, marks, tests }: Checked): string {
  if (error !== null && error !== undefined)
    return "The check failed; the service checks the policy again when you save it.";
  return checking ? "Checking …" : foundIn(marks, tests);
}

function foundIn(marks: readonly Mark[], tests: number): string {
  const warnings = marks.filter(({ severity }) => severity === "warning").length;
  const errors = marks.length - warnings;
  if (errors > 0) return `${errors} ${errors === 1 ? "error" : "errors"}`;
  const tried = tests === 0 ? "there are no tests" : tests === 1 ? "its test passes" : `its ${tests} tests pass`;
  if (warnings > 0) return `No errors; ${warnings} ${warnings === 1 ? "warning" : "warnings"}; ${tried}.`;
  return `No errors; ${tried}.`;
}

function Marks({ marks, text }: { readonly marks: readonly Mark[]; readonly text: string }) {
  return (
    <ol className="plain stack tight small">
      {marks.map((mark) => (
        <li key={`${mark.from} ${mark.message}`} className="reason">
          <span className="muted">{lineOf(text, mark.from)}</span>
          {mark.message}
        </li>
      ))}
    </ol>
  );
}

function lineOf(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
