/** One policy: its text, checked while it is written; its versions; whether it is in force. */
import type { Policy, PolicyCheck } from "@countersign/contract";
import { ApiError } from "@countersign/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker, useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { useDraftName } from "../api/draft.ts";
import { useClient, useMay } from "../api/session.tsx";
import { keepDraft, keptDraft } from "../browser/storage.ts";
import { Confirm } from "../parts/forms/dialog.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Badge } from "../parts/records/badge.tsx";
import { Failed, Loaded } from "../parts/states.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { CodeEditor } from "../policies/code-editor.tsx";
import { type Mark, marksOf, readText, starter, textOf } from "../policies/document-text.ts";
import { Versions } from "../policies/versions.tsx";
import { policyTones } from "./policies.tsx";

export function NewPolicyPage() {
  return (
    <>
      <PageHead title="Write a policy" about="YAML with conditions in CEL. It is checked while you write." />
      <Editor policy={null} />
    </>
  );
}

export function PolicyPage() {
  const { policy_id } = useParams({ from: "/frame/policies/$policy_id" });
  const client = useClient();
  const query = useQuery({ queryKey: ["policies", "one", policy_id], queryFn: () => client.getPolicy(policy_id) });
  return (
    <>
      {query.data === undefined && <PageHead title="Policy" about={<span className="mono small">{policy_id}</span>} />}
      <Loaded query={query} what="the policy">
        {(policy) => (
          <>
            <PageHead title={policy.title ?? policy.name} about={<span className="mono small">{policy.name}</span>}>
              <Badge text={policy.status} tone={policyTones[policy.status]} />
              <span className="small muted">{`version ${policy.version}`}</span>
            </PageHead>
            <InForce policy={policy} />
            <Editor key={policy_id} policy={policy} />
            <Versions policy={policy} />
          </>
        )}
      </Loaded>
    </>
  );
}

/** The text that was checked, and what the service said to it. */
interface Checked {
  readonly marks: readonly Mark[];
  readonly valid: boolean;
  readonly checking: boolean;
  readonly error: unknown;
  readonly has_comments: boolean;
  /** How many tests the text brings. */
  readonly tests: number;
}

const check_delay_ms = 350;

/** Checks the text, a moment after the last key. */
function useCheck(text: string): Checked {
  const client = useClient();
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), check_delay_ms);
    return () => clearTimeout(timer);
  }, [text]);
  const read = useMemo(() => readText(settled), [settled]);
  const query = useQuery<PolicyCheck>({
    queryKey: ["policy-check", settled],
    queryFn: () => client.checkPolicy("policy" in read ? { policy: read.policy, tests: read.tests } : { policy: {} }),
    enabled: "policy" in read,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    placeholderData: (before) => before,
  });
  return useMemo(() => {
    if ("marks" in read)
      return {
        marks: read.marks,
        valid: false,
        checking: settled !== text,
        error: null,
        has_comments: false,
        tests: 0,
      };
    const sent = read.tests.length === 0 ? read.policy : { ...read.policy, tests: read.tests };
    const { diagnostics = [], warnings = [] } = query.data ?? {};
    const marks = () => [
      ...marksOf(settled, sent, diagnostics, "error"),
      ...marksOf(settled, sent, warnings, "warning"),
    ];
    return {
      marks: query.isPlaceholderData ? [] : marks(),
      valid: query.data?.valid === true && !query.isPlaceholderData && settled === text,
      checking: settled !== text || query.isFetching,
      error: query.error,
      has_comments: read.has_comments,
      tests: read.tests.length,
    };
  }, [read, settled, text, query.data, query.isPlaceholderData, query.isFetching, query.error]);
}

/** What the check found; `tests`: how many the document brings. */
function foundIn(marks: readonly Mark[], tests: number): string {
  const warnings = marks.filter(({ severity }) => severity === "warning").length;
  const mistakes = marks.length - warnings;
  if (mistakes > 0) return `${mistakes} ${mistakes === 1 ? "mistake" : "mistakes"}`;
  const tried = tests === 0 ? "there are no tests" : tests === 1 ? "its test passes" : `its ${tests} tests pass`;
  if (warnings > 0) return `No mistakes; ${warnings} ${warnings === 1 ? "warning" : "warnings"}; ${tried}.`;
  return `No mistakes; ${tried}.`;
}

function lineOf(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function Editor({ policy }: { readonly policy: Policy | null }) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const may = useMay("admin");
  const saved = useMemo(() => (policy === null ? starter : textOf(policy.document)), [policy]);
  const draft = useDraftName(`policy.${policy?.policy_id ?? "new"}`);
  const [restored, setRestored] = useState(() => keptDraft(draft));
  const [text, setText] = useState(restored ?? saved);
  const [base, setBase] = useState(saved);
  useEffect(() => {
    // A new version came from the service: take it over unless somebody is writing here.
    setText((now) => (now === base ? saved : now));
    setBase(saved);
  }, [saved, base]);
  const dirty = text !== base;
  useEffect(() => keepDraft(draft, dirty ? text : null), [draft, dirty, text]);
  // The version that the text began with: another one that came while somebody wrote here is not saved over unasked.
  const begun = useRef(policy?.version);
  useEffect(() => {
    if (!dirty) begun.current = policy?.version;
  }, [dirty, policy]);
  const [newer, setNewer] = useState<number | null>(null);
  const takeBack = () => {
    setText(base);
    setRestored(null);
  };
  const checked = useCheck(text);
  const save = useMutation({
    mutationFn: async (over: number | undefined) => {
      const read = readText(text);
      if (!("policy" in read)) throw new Error("The text is no YAML.");
      const input = { policy: read.policy, ...(read.tests.length === 0 ? {} : { tests: read.tests }) };
      if (policy === null) return client.createPolicy(input);
      const { version } = await client.getPolicy(policy.policy_id);
      setNewer(version === over ? null : version);
      return version === over ? client.replacePolicy(policy.policy_id, input) : null;
    },
    onSuccess: async (after) => {
      if (after === null) return;
      setBase(text);
      setRestored(null);
      keepDraft(draft, null);
      queries.setQueryData(["policies", "one", after.policy_id], after);
      void queries.invalidateQueries({ queryKey: ["policies"] });
      toasts.done(`Saved as version ${after.version}`, "It decides nothing until it is activated.");
      if (policy === null)
        await navigate({ to: "/policies/$policy_id", params: { policy_id: after.policy_id }, ignoreBlocker: true });
    },
  });
  useBlocker({
    shouldBlockFn: () => dirty && !confirm("Leave without saving what you wrote?"),
    enableBeforeUnload: () => dirty,
  });
  return (
    <section className="card stack tight" aria-label="Policy text">
      <CodeEditor text={text} onChange={setText} marks={checked.marks} label="Policy document, YAML" readOnly={!may} />
      <div className="row between">
        <p className="small" role="status">
          {checked.error !== null && checked.error !== undefined
            ? "It could not be checked; it is checked again when it is saved."
            : checked.checking
              ? "Checking …"
              : foundIn(checked.marks, checked.tests)}
        </p>
        {may && (
          <span className="row">
            {(policy !== null || restored !== null) && dirty && (
              <button type="button" className="button" onClick={takeBack}>
                Take back
              </button>
            )}
            <button
              type="button"
              className="button primary"
              disabled={save.isPending || (policy !== null && !dirty)}
              onClick={() => save.mutate(begun.current)}
            >
              {policy === null ? "Save policy" : "Save new version"}
            </button>
          </span>
        )}
      </div>
      {restored !== null && dirty && (
        <p className="small">What you had written here and not saved is back. “Take back” drops it.</p>
      )}
      {may && dirty && checked.has_comments && (
        <p className="small">Comments are not saved: the service keeps the document, not its text.</p>
      )}
      {newer !== null && (
        <Confirm
          title={`Save over version ${newer}?`}
          action="Save mine as the newest"
          busy={save.isPending}
          onConfirm={() => save.mutate(newer)}
          onClose={() => setNewer(null)}
        >
          <p>
            {`Version ${newer} was saved while you wrote. What it changed is not in your text; it stays among the versions below.`}
          </p>
        </Confirm>
      )}
      {checked.marks.length > 0 && (
        <ol className="plain stack tight small">
          {checked.marks.map((mark) => (
            <li key={`${mark.from} ${mark.message}`} className="reason">
              <span className="muted">{lineOf(text, mark.from)}</span>
              {mark.message}
            </li>
          ))}
        </ol>
      )}
      {save.error !== null && <SaveFailed error={save.error} />}
      {policy === null && (
        <p className="small muted">
          Try it against what was decided already with a <Link to="/backtest">backtest</Link> once it is saved.
        </p>
      )}
    </section>
  );
}

function SaveFailed({ error }: { readonly error: unknown }) {
  if (error instanceof ApiError && error.code === "policy_invalid")
    return <p className="late">It was not saved: mend what is marked above.</p>;
  return <Failed error={error} />;
}

/** What is to be confirmed, of the version that stood there: a newer one may come meanwhile. */
interface Asked {
  readonly what: "live" | "shadow" | "retire";
  readonly version: number;
}

function InForce({ policy }: { readonly policy: Policy }) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  const may = useMay("admin");
  const [asked, setAsked] = useState<Asked | null>(null);
  const ask = (what: Asked["what"]) => setAsked({ what, version: policy.version });
  const act = useMutation({
    mutationFn: ({ what, version }: Asked) =>
      what === "retire"
        ? client.retirePolicy(policy.policy_id)
        : client.activatePolicy(policy.policy_id, what, version),
    onSuccess: (after) => {
      queries.setQueryData(["policies", "one", after.policy_id], after);
      toasts.done(
        after.status === "retired" ? "Retired" : `Version ${after.active_version} is in force (${after.status})`,
        "Every decision committed from now on follows it.",
      );
    },
    onError: toasts.failed,
    onSettled: () => {
      setAsked(null);
      void queries.invalidateQueries({ queryKey: ["policies"] });
    },
  });
  const newest = policy.active_version === policy.version;
  return (
    <section className="card row between" aria-label="In force">
      <p>
        {policy.active_version === null
          ? "Not in force: it decides nothing."
          : `Version ${policy.active_version} is in force${policy.status === "shadow" ? " in shadow: it is evaluated and recorded, and holds nothing" : ""}.`}
        {policy.active_version !== null && !newest && ` Version ${policy.version} waits for activation.`}
      </p>
      {may && (
        <span className="row">
          <Link to="/backtest" search={{ policy_id: policy.policy_id } as never} className="button">
            Backtest
          </Link>
          {!(policy.status === "live" && newest) && (
            <button type="button" className="button primary" onClick={() => ask("live")}>
              Activate
            </button>
          )}
          {!(policy.status === "shadow" && newest) && (
            <button type="button" className="button" onClick={() => ask("shadow")}>
              Activate in shadow
            </button>
          )}
          {policy.active_version !== null && (
            <button type="button" className="button bad" onClick={() => ask("retire")}>
              Retire
            </button>
          )}
        </span>
      )}
      {asked !== null && (
        <Confirm
          title={asked.what === "retire" ? "Retire this policy?" : `Put version ${asked.version} in force?`}
          action={asked.what === "retire" ? "Retire" : asked.what === "live" ? "Activate" : "Activate in shadow"}
          tone={asked.what === "retire" ? "bad" : "primary"}
          busy={act.isPending}
          onConfirm={() => act.mutate(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            {asked.what === "retire"
              ? "It stops deciding with the next decision. It cannot be put in force again, and its name stays taken."
              : asked.what === "live"
                ? "It governs every decision from the next one on, on every node."
                : "It is evaluated and recorded from the next decision on, and holds nothing."}
            {asked.what === "shadow" &&
              policy.status === "live" &&
              ` Version ${policy.active_version}, which is live, then holds nothing any more.`}
          </p>
        </Confirm>
      )}
    </section>
  );
}
