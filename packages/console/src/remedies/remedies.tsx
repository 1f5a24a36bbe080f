/** The buttons that remove a cause from which many reviews follow. Callers without the right get a link to its place. */
import type { AttentionItem, Membrane } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { isOfPack } from "../policies/of-pack.ts";

const SupplyFact = lazy(async () => ({ default: (await import("./supply-fact.tsx")).SupplyFact }));
const SwitchOff = lazy(async () => ({ default: (await import("./switch-off.tsx")).SwitchOff }));
const DescribeTool = lazy(async () => ({ default: (await import("./describe-tool.tsx")).DescribeTool }));
const MembraneDialog = lazy(async () => ({
  default: (await import("../pages/membranes/membrane-dialog.tsx")).MembraneDialog,
}));

interface RemedyProps {
  readonly item: AttentionItem;
}

export function Remedies({ item }: RemedyProps) {
  const { kind, intent_id } = item;
  switch (kind) {
    case "missing_fact":
      return (
        <>
          <Supply item={item} />
          <Off item={item} />
        </>
      );
    case "uncovered_tool":
      return (
        <>
          <Describe item={item} />
          <Link to="/policies/new">Write a rule</Link>
        </>
      );
    case "no_reviewers":
      return (
        <>
          <NameReviewers item={item} />
          <Link to="/people">Invite a reviewer</Link>
        </>
      );
    case "executed_although_blocked":
      return (
        <>
          {intent_id !== undefined && (
            <Link to="/decisions/$intent_id" params={{ intent_id }}>
              Open the action
            </Link>
          )}
          <Link to="/decisions" search={{ outcome: "contradicted", agent_id: item.agent_id ?? "" } as never}>
            All of them
          </Link>
        </>
      );
    case "due_soon":
      return <Link to="/review">Open the queue</Link>;
    case "deliveries_failing":
      return <Link to="/webhooks">Open webhooks</Link>;
    case "log_stopped":
      return <Link to="/audit">Open the audit trail</Link>;
    case "stream_behind":
      return <Link to="/streams">Open streams</Link>;
    case "failed_mail":
      return <Link to="/settings">Open settings</Link>;
    default:
      return kind satisfies never;
  }
}

/** A button that opens a dialog. The dialog's code loads with the click. */
function Opens({ text, children }: { readonly text: string; readonly children: (onClose: () => void) => ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setOpen(true)}>
        {text}
      </button>
      {open && <Suspense fallback={null}>{children(() => setOpen(false))}</Suspense>}
    </>
  );
}

function Supply({ item }: RemedyProps) {
  const may = useMay("operator");
  if (!may)
    return (
      <a href="/docs/how-to/facts" target="_blank" rel="noreferrer">
        How to supply it
      </a>
    );
  return <Opens text="Supply it">{(onClose) => <SupplyFact item={item} onClose={onClose} />}</Opens>;
}

function Off({ item }: RemedyProps) {
  const may = useMay("admin");
  const rules = item.rules.filter(({ policy_id }) => policy_id !== null);
  const text = rules.length === 1 ? "Switch the rule off" : "Switch rules off";
  if (rules.length === 0) return null;
  if (!may) return <RuleLink rule={rules[0]} />;
  return <Opens text={text}>{(onClose) => <SwitchOff item={item} onClose={onClose} />}</Opens>;
}

function Describe({ item }: RemedyProps) {
  const may = useMay("admin");
  const { membrane_id, what } = item;
  if (!may || membrane_id === undefined) return null;
  return (
    <Opens text="Describe the tool">
      {(onClose) => <DescribeTool membrane_id={membrane_id} verb={what} onClose={onClose} />}
    </Opens>
  );
}

/** The rules of packs, and policies without reviewers of their own, ask the reviewers of the membrane. */
function NameReviewers({ item: { rules, membrane_id = "" } }: RemedyProps) {
  const may = useMay("admin");
  const client = useClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const [membrane, setMembrane] = useState<Membrane | null>(null);
  const [rule] = rules;
  const open = useMutation({
    mutationFn: async () => {
      const policy_id = rule === undefined || isOfPack(rule) ? null : rule.policy_id;
      const document = policy_id === null ? null : (await client.getPolicy(policy_id)).document;
      const spec = document?.["spec"] as { readonly escalation?: { readonly reviewers?: unknown } } | undefined;
      if (policy_id !== null && spec?.escalation?.reviewers !== undefined)
        await navigate({ to: "/policies/$policy_id", params: { policy_id }, search: { at: "reviewers" } as never });
      else setMembrane(await client.getMembrane(membrane_id));
    },
    onError: toasts.failed,
  });
  if (!may) return <RuleLink rule={rule} />;
  return (
    <>
      <button type="button" className="button small" disabled={open.isPending} onClick={() => open.mutate()}>
        Name reviewers
      </button>
      {membrane !== null && (
        <Suspense fallback={null}>
          <MembraneDialog membrane={membrane} at="reviewers" onClose={() => setMembrane(null)} />
        </Suspense>
      )}
    </>
  );
}

/** A rule of a pack is switched at the membrane. */
function RuleLink({ rule }: { readonly rule: AttentionItem["rules"][number] | undefined }) {
  if (rule === undefined || rule.policy_id === null || isOfPack(rule))
    return <Link to="/membranes">Open the membrane</Link>;
  return (
    <Link to="/policies/$policy_id" params={{ policy_id: rule.policy_id }}>
      Open the rule
    </Link>
  );
}
