/** Short words with a colour and, for those who see none, a shape. */
import type { EscalationStatus, PipelineMode, Verdict } from "@countersign/contract";

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

const statusClass: Record<EscalationStatus, string> = {
  pending: "escalate",
  decided: "approve",
  timed_out: "block",
  cancelled: "plain",
};

export function StatusBadge({ status }: { readonly status: EscalationStatus }) {
  return <span className={`badge ${statusClass[status]}`}>{status.replace("_", " ")}</span>;
}

export function Badge({ text, tone = "plain" }: { readonly text: string; readonly tone?: string }) {
  return <span className={`badge ${tone}`}>{text}</span>;
}
