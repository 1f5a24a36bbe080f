/** Writes what people read in an archive: the summary as a page, and a text that explains the files. */
import { auditTypes, product_version } from "@countersign/contract";
import { visible } from "../visible.ts";
import { type InForce, margin_ms, names } from "./layout.ts";
import { type Summary, type Told, told_max } from "./summary.ts";

export interface Described {
  readonly org_id: string;
  readonly org_name: string;
  readonly from: string;
  readonly to: string;
  readonly as_of_seq: number;
  readonly made_at: string;
  readonly made_by: string;
  readonly checkpoint: string;
  readonly keys: readonly string[];
  readonly in_force: InForce;
  readonly summary: Summary;
  /** Names of people by id. */
  readonly people: ReadonlyMap<string, string>;
  readonly has_verify_page: boolean;
}

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Names in records were written by agents and people. */
const html = (text: string | number): string =>
  visible(String(text)).replace(/[&<>"']/g, (char) => escapes[char] ?? "");

function table(heads: readonly string[], rows: readonly (readonly (string | number)[])[], none: string): string {
  if (rows.length === 0) return `<p>${html(none)}</p>`;
  const cells = (tag: string, row: readonly (string | number)[]) =>
    `<tr>${row.map((cell) => `<${tag}>${html(cell)}</${tag}>`).join("")}</tr>`;
  const lines = rows.map((row) => cells("td", row)).join("\n");
  return `<div><table><thead>${cells("th", heads)}</thead><tbody>${lines}</tbody></table></div>`;
}

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
div{overflow-x:auto}table{border-collapse:collapse;margin:.5rem 0 1rem}th,td{border:1px solid #c8c8c8;padding:.25rem .6rem;text-align:left;
vertical-align:top}th{background:#f2f2f2}h2{margin-top:2rem}pre{font:13px/1.4 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}`;

/** Returns the page. It has no script, and loads nothing. */
export function summaryPage(described: Described): string {
  const { org_id, org_name, from, to, made_at, made_by, as_of_seq, checkpoint, keys } = described;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evidence of ${html(org_name)}</title><style>${style}</style></head><body>
<h1>Evidence of ${html(org_name)}</h1>
${table(
  ["What", "Value"],
  [
    ["Organization", `${org_name} (${org_id})`],
    ["Period", `from ${from}, before ${to}`],
    ["Made", `${made_at} by ${made_by}, with Countersign ${product_version}`],
    ["Covers", `what was recorded up to audit record ${as_of_seq}`],
  ],
  "",
)}
${recordsPart(described)}
${rulesPart(described.in_force)}
<h2>The log</h2>
<p>All receipts lead to this signed checkpoint:</p><pre>${checkpoint.split("\n").map(html).join("\n")}</pre>
<p>Keys that sign, or signed, checkpoints:</p><pre>${keys.map(html).join("\n")}</pre>
${checkPart()}
</body></html>
`;
}

function recordsPart({ summary, people }: Described): string {
  const named = (id: string) => (people.has(id) ? `${people.get(id)} (${id})` : id);
  const sorted = (counts: ReadonlyMap<string, number>) => [...counts].sort(([, a], [, b]) => b - a);
  const toldRows = (list: readonly Told[]) => list.map(({ at, type, by, about }) => [at, type, named(by), about]);
  const heads = ["Time", "What", "By", "About"];
  const listOf = (title: string, list: readonly Told[]) =>
    `<h3>${title}${list.length === told_max ? `, the newest ${told_max}` : ""}</h3>${table(heads, toldRows(list), "None.")}`;
  const verdicts = [...summary.verdicts]
    .sort()
    .map(([name, count]) => [...name.split(" "), count.toLocaleString("en-US")]);
  const outcomes = sorted(summary.outcomes).map(([outcome, count]) => [outcome, count.toLocaleString("en-US")]);
  const changes = sorted(summary.changes).map(([type, count]) => [
    type,
    meaningOf(type),
    count.toLocaleString("en-US"),
  ]);
  return `<h2>Decisions</h2>
<p>${summary.decisions.toLocaleString("en-US")} decisions, and ${summary.audit_records.toLocaleString("en-US")} audit records in the period.</p>
${table(["Mode", "Verdict", "Decisions"], verdicts, "No decision was made in this period.")}
<h3>What became of live actions that waited for people</h3>
${table(["Outcome", "Decisions"], outcomes, "None waited.")}
<h3>Who voted in reviews</h3>
${table(
  ["Person or key", "Votes"],
  sorted(summary.voters).map(([id, votes]) => [named(id), votes]),
  "Nobody.",
)}
${listOf("Overrides", summary.overrides)}
${listOf("Freezes", summary.freezes)}
${listOf("Erasures, retention and legal holds", summary.erasures)}
<h3>Changes of the organization</h3>
${table(["Record", "Meaning", "Times"], changes, "None.")}`;
}

function meaningOf(type: string): string {
  return (auditTypes as Readonly<Record<string, string>>)[type] ?? "";
}

function rulesPart({ policies, membranes }: InForce): string {
  const policyRows = policies.map(({ name, version, mode, from, until, sha256, file }) => [
    ...[name, version, mode, from, until ?? "still in force", sha256, file],
  ]);
  const membraneRows = membranes.map(({ name, membrane_id, status, packs, from, until }) => [
    ...[`${name} (${membrane_id})`, status, packs.join(", "), from, until ?? "still so"],
  ]);
  return `<h2>Rules</h2>
<h3>Policies in force in the period</h3>
${table(["Policy", "Version", "Mode", "From", "Until", "SHA-256", "File"], policyRows, "None of the organization's own.")}
<h3>Membranes and their packs</h3>
${table(["Membrane", "Status", "Packs", "From", "Until"], membraneRows, "No record says how membranes were set.")}`;
}

function checkPart(): string {
  return `<h2>How to check</h2>
<p>Get the log's verifier key from another place than this archive, such as the organization's website or your contract. Then run:</p>
<pre>countersign evidence verify ARCHIVE.zip --key KEY</pre>
<p>README.txt says what is checked, how to check one receipt without installing anything, and what is not proved.</p>`;
}

export function readmeText({ org_name, org_id, from, to, has_verify_page }: Described): string {
  const minutes = margin_ms / 60_000;
  return `Evidence of ${visible(org_name)} (${org_id})
Decided from ${from}, before ${to}

${names.summary}
    a summary for people: counts, reviewers, overrides, freezes, policies
${names.decisions}
    one decision a line: the action, who asked, the rules, the outcome when the archive was made
${names.audit}
    the audit trail of the period, newest first, and of ${minutes} minutes before and after it
receipts/INTENT_ID.json
    the proof of one decision and of what happened to it, each with the signed checkpoint of the log
${names.in_force}
    which policy versions were in force in the period, how membranes were set, and the packs of the service
policies/POLICY_ID.vVERSION.json
    a policy version, as canonical JSON; ${names.in_force} has its SHA-256
${names.checkpoint}
    the signed checkpoint of all receipts: C2SP tlog-checkpoint
${names.range}
    the hashes that prove that no entry of the log is missing between the first and the last one of the period
${names.keys}, ${names.key_history}
    the keys of the log, since when and until when each signs, and the audit records of their rotations
${has_verify_page ? `${names.verify_page}\n    a page that checks one receipt in a browser, without a network\n` : ""}${names.manifest}
    the SHA-256 of each file

HOW TO CHECK

Get the log's verifier key from another place than this archive: from the organization's website, or from your
contract. Anybody can write an archive with his own key in it.

    countersign evidence verify ARCHIVE.zip --key KEY

It checks that
  - no file was changed, removed or added since the archive was made;
  - each receipt holds, and all lead to the same signed checkpoint;
  - the records of the audit trail are entries of the log, and none of the period is missing between them;
  - each decision in the log of the period has a receipt and a line in ${names.decisions}, which agree in ids, agent,
    verdict, time, and what the agent submitted;
  - each policy has the hash that ${names.in_force} says.

WHAT IS NOT PROVED

  - That facts were true, and that names and times are right: they are as the service recorded them.
  - That the log shows everybody the same entries. Compare its checkpoint with one that you noted at another time.
  - That the period begins with the first and ends with the last entry of the archive, if no entry before or after the
    period is in it. Compare with the archives of the periods beside it.
  - Reasons, risks and outcomes in ${names.decisions}, and names of rules in ${names.audit}. The receipts have them.
  - What erased or withheld documents said. They are null in receipts.
  - That an action had the reported outcome: the agent reported it.
  - That ${names.in_force} is complete before the period. Activations within the period are in the audit trail.
  - The words of ${names.summary} and of this text. Only ${names.manifest} has their hashes.
`;
}
