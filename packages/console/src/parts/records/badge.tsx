/** Verdicts as coloured chips, states as words. Each has a mark with a shape, for people who do not see colours. */
import type { Escalation, PipelineMode, Verdict } from "@countersign/contract";

const verdictWords: Record<Verdict, string> = {
  approve: "approved",
  approve_modified: "approved with changes",
  escalate: "escalated",
  block: "blocked",
};

export function verdictWord(verdict: Verdict): string {
  return verdictWords[verdict];
}

export function VerdictBadge({ verdict }: { readonly verdict: Verdict }) {
  return <span className={`badge verdict ${verdict}`}>{verdictWords[verdict]}</span>;
}

const effectWords: Readonly<Record<string, string>> = {
  block: "blocks",
  escalate: "asks for review",
  approve_modified: "changes",
  none: "adds risk",
};

/** Shows what a rule does to an action. A draft may have an effect that does not exist. */
export function EffectBadge({ effect }: { readonly effect: string }) {
  return <Badge text={effectWords[effect] ?? effect} tone={effect === "none" ? "plain" : effect} />;
}

/** Live is the normal case and needs no word. */
export function ModeBadge({ mode, always = false }: { readonly mode: PipelineMode; readonly always?: boolean }) {
  if (mode === "live" && !always) return null;
  return <span className={`badge plain ${mode === "live" ? "live" : "shadow"}`}>{mode}</span>;
}

export function StatusBadge({ escalation: { status, resolution } }: { readonly escalation: Escalation }) {
  const word = status.replace("_", " ");
  if (resolution === null) return <span className="badge escalate">{word}</span>;
  return (
    <span className={`badge verdict ${resolution.outcome}`}>{`${word}: ${verdictWords[resolution.outcome]}`}</span>
  );
}

/** The submitter decided, which requires an organization without a second person. */
export function SelfReviewed({ escalation: { self_reviewed } }: { readonly escalation: Escalation }) {
  return self_reviewed ? <span className="badge shadow">self-reviewed</span> : null;
}

export function Badge({ text, tone = "plain" }: { readonly text: string; readonly tone?: string }) {
  return <span className={`badge ${tone}`}>{text}</span>;
}
