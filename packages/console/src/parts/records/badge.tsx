/** Short words with a colour and, for those who see none, a shape. */
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
  return <span className={`badge ${verdict}`}>{verdictWords[verdict]}</span>;
}

/** Live is the normal case and needs no word. */
export function ModeBadge({ mode, always = false }: { readonly mode: PipelineMode; readonly always?: boolean }) {
  if (mode === "live" && !always) return null;
  return <span className={`badge plain ${mode === "live" ? "live" : "shadow"}`}>{mode}</span>;
}

/** Where a review stands; of one that is closed also what came of it, which is what counts. */
export function StatusBadge({ escalation: { status, resolution } }: { readonly escalation: Escalation }) {
  const word = status.replace("_", " ");
  if (resolution === null) return <span className="badge escalate">{word}</span>;
  return <span className={`badge ${resolution.outcome}`}>{`${word}: ${verdictWords[resolution.outcome]}`}</span>;
}

/** Says that the person who submitted the action ruled on it, which only an organization without a second person permits. */
export function SelfReviewed({ escalation: { self_reviewed } }: { readonly escalation: Escalation }) {
  return self_reviewed ? <span className="badge shadow">self-reviewed</span> : null;
}

export function Badge({ text, tone = "plain" }: { readonly text: string; readonly tone?: string }) {
  return <span className={`badge ${tone}`}>{text}</span>;
}
