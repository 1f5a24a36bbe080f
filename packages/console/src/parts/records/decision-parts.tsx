import {
  type AuditRecord,
  assuranceMeanings,
  type Decision,
  look_alike_reason,
  type UsedFacts,
} from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { useReads } from "../../api/session.tsx";
import { useNow } from "../../browser/clock.ts";
import { Data } from "../tables/data.tsx";
import { ListTable } from "../tables/list-table.tsx";
import { ExactTime, roughText, Time } from "../time.tsx";
import { auditNote, auditWord } from "./audit-words.ts";
import { EffectBadge } from "./badge.tsx";
import { ContentView } from "./content-view.tsx";
import { JsonDiff, JsonView } from "./json-view.tsx";
import { Who } from "./who.tsx";

/** Policies of packs are named after the rule instead. */
const isOwnPolicy = (policy_id: string | null): policy_id is string =>
  policy_id !== null && /^pol_[0-9A-HJKMNP-TV-Z]{26}$/i.test(policy_id);

type Reason = Decision["reasons"][number];

export function Reasons({ decision }: { readonly decision: Decision }) {
  const isReport = ({ policy_id, policy }: Reason): boolean => policy_id === null && policy === look_alike_reason;
  const rules = decision.reasons.filter((reason) => !isReport(reason));
  return (
    <div className="stack tight">
      {decision.reasons.filter(isReport).map(({ message }) => (
        <div key={message} className="banner warn" role="alert">
          <div>
            <strong>A name in this action looks like another one</strong>
            <Data text={message} lines />
          </div>
        </div>
      ))}
      {rules.length === 0 ? (
        <p className="muted">No rule matched; the membrane’s default gave the verdict.</p>
      ) : (
        <RuleReasons reasons={rules} />
      )}
    </div>
  );
}

function RuleReasons({ reasons }: { readonly reasons: readonly Reason[] }) {
  const reads = useReads();
  return (
    <ul className="plain stack tight">
      {reasons.map((reason, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the reasons of one decision never change
        <li key={index} className="reason">
          <div className="row between">
            <span>
              {reads && isOwnPolicy(reason.policy_id) ? (
                <Link to="/policies/$policy_id" params={{ policy_id: reason.policy_id }}>
                  <Data text={reason.policy} />
                </Link>
              ) : (
                <strong>
                  <Data text={reason.policy} />
                </strong>
              )}
              {reason.version !== null && <span className="muted small">{` version ${reason.version}`}</span>}
            </span>
            <EffectBadge effect={reason.effect} />
          </div>
          <Data text={reason.message} lines />
          {reason.citations.length > 0 && (
            <p className="small muted">
              {"Rests on "}
              <Data text={reason.citations.join("; ")} />
            </p>
          )}
          {reason.unknown_facts.length > 0 && (
            <p className="small">
              {"It matched because facts were unknown: "}
              <Data text={reason.unknown_facts.map(unknownText).join(", ")} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

function unknownText({ path, reason, assurance }: Decision["reasons"][number]["unknown_facts"][number]): string {
  return assurance === undefined ? `${path} (${reason})` : `${path} (only ${assurance})`;
}

export function Risk({ decision }: { readonly decision: Decision }) {
  const percent = Math.round(decision.risk_score * 100);
  const groups = new Map<string, Decision["risk_contributions"][number][]>();
  for (const each of decision.risk_contributions) {
    groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  }
  return (
    <div className="stack tight">
      <div className="row between">
        <strong>{`Risk ${decision.risk_score.toFixed(2)}`}</strong>
        <span className="small muted">from 0 (harmless) to 1 (certain harm)</span>
      </div>
      <Meter share={percent / 100} hot={percent >= 70} label={`risk ${decision.risk_score.toFixed(2)}`} />
      {decision.risk_contributions.length > 0 && (
        <ListTable heads={["Source", "Group", "Risk"]} numbers={1} caption="Parts of the risk">
          {decision.risk_contributions.map((each) => (
            <tr key={`${each.group} ${each.source}`}>
              <td>
                <Data text={each.source} />
              </td>
              <td>
                <Data text={each.group} />
              </td>
              <td className="num">{each.value.toFixed(2)}</td>
            </tr>
          ))}
        </ListTable>
      )}
      {decision.risk_contributions.length > 1 && (
        <p className="small muted">Of each group, only the largest risk counts.</p>
      )}
    </div>
  );
}

/** A bar from 0 to 1. `waits`: the part of `share` that waits for people. */
export function Meter({
  share,
  waits = 0,
  hot,
  label,
}: {
  readonly share: number;
  readonly waits?: number;
  readonly hot: boolean;
  readonly label: string;
}) {
  const width = (part: number) => ({ width: `${Math.max(0, Math.min(1, part)) * 100}%` });
  return (
    <div className={hot ? "meter hot" : "meter"} role="img" aria-label={label}>
      <i style={width(share - waits)} />
      {waits > 0 && <i className="waits" style={width(waits)} />}
    </div>
  );
}

const sourceWords = {
  token: "the agent's token",
  pulled: "your endpoint",
  target: "stored: target",
  agent: "stored: agent",
  org: "stored: all",
  inline: "the intent",
} as const;

/** A clock that was set back gives no time below 0. */
const ageText = (at_ms: number, as_of: string) => roughText(Math.max(0, (at_ms - Date.parse(as_of)) / 1_000));

export function Facts({ facts, decided_at }: { readonly facts: UsedFacts; readonly decided_at: string }) {
  const now = useNow();
  const rows = Object.entries(facts).flatMap(([category, fields]) =>
    Object.entries(fields ?? {}).map(([name, fact]) => ({ path: `${category}.${name}`, ...fact })),
  );
  if (rows.length === 0) return <p className="muted">No facts were given or stored for this action.</p>;
  return (
    <ListTable heads={["Fact", "Value", "Source", "Assurance", "Age then", "Age now"]} caption="Facts of the decision">
      {rows.map(({ path, value, source, assurance, as_of }) => (
        <tr key={path}>
          <td className="mono small">
            <Data text={path} />
          </td>
          <td className="mono small">
            {value === undefined ? (
              <span className="muted">not shown to agents</span>
            ) : (
              <Data text={JSON.stringify(value)} chars_max={400} more />
            )}
          </td>
          <td className={source === "token" ? undefined : "nowrap"}>
            {sourceWords[source]}
            {source === "token" && (
              <>
                {", verified by "}
                <Data text={String(facts.identity?.["token_issuer"]?.value)} />
              </>
            )}
          </td>
          <td title={assuranceMeanings[assurance]}>{assurance}</td>
          <td className="nowrap" title={as_of}>
            {ageText(Date.parse(decided_at), as_of)}
          </td>
          <td className="nowrap" title={as_of}>
            {ageText(now, as_of)}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

const changeWords = {
  at_most: "is at most",
  at_least: "is at least",
  equals: "is",
  present: "is given, such as",
  absent: "is left out",
} as const;

/** Changes or a time that would lead to an approval. The service verified them by deciding again. */
export function WouldApprove({ changes: entries }: { readonly changes: NonNullable<Decision["would_approve_if"]> }) {
  const changes = entries.filter(({ path }) => path !== "now");
  const from = entries.find(({ path }) => path === "now")?.value;
  return (
    <>
      <h2>{changes.length > 0 ? "It would be approved if" : "It would be approved later"}</h2>
      <ul className="plain stack tight">
        {changes.map((change) => (
          <li key={`${change.path} ${change.op}`} className="reason">
            <span>
              <span className="mono">
                <Data text={change.path} />
              </span>
              {` ${changeWords[change.op]} `}
              {change.value !== undefined && (
                <strong className="mono">
                  <Data text={JSON.stringify(change.value)} chars_max={400} more />
                </strong>
              )}
            </span>
          </li>
        ))}
        {typeof from === "string" && (
          <li className="reason">
            <span>
              {changes.length > 0 ? "or unchanged from" : "Unchanged from"} <ExactTime at={from} />
              {" on, if no other action counts until then"}
            </span>
          </li>
        )}
      </ul>
    </>
  );
}

/** Modifications without a policy are a person's. */
function changersOf({ modifications }: Decision): string {
  if (modifications.every(({ policy_id }) => policy_id !== null)) return "Rules change";
  return modifications.some(({ policy_id }) => policy_id !== null)
    ? "Rules and a reviewer changed"
    : "A reviewer changed";
}

/** `printed`: on paper, where nothing can be switched. */
export function Payload({
  decision,
  content,
  printed = false,
}: {
  readonly decision: Decision;
  readonly content: unknown;
  readonly printed?: boolean;
}) {
  if (content === undefined) return <p className="muted">The action has no parameters.</p>;
  if (decision.modified_content === null || decision.modifications.length === 0) {
    const View = printed ? JsonView : ContentView;
    return <View value={content} label="Parameters of the action" />;
  }
  return (
    <div className="stack tight">
      <p className="small muted">{`${changersOf(decision)} the action. Lines with − are the request, lines with + would be executed.`}</p>
      <JsonDiff before={content} after={decision.modified_content} label="Changes to the parameters" />
    </div>
  );
}

export function Timeline({ audit }: { readonly audit: readonly AuditRecord[] }) {
  return (
    <ol className="timeline">
      {audit.map((row) => {
        const note = auditNote(row);
        return (
          <li key={row.audit_id}>
            <div className="row">
              <strong>{auditWord(row.type)}</strong>
              <span className="small muted">
                <Time at={row.at} />
                {row.actor.id !== null && (
                  <>
                    {" by "}
                    <Who id={row.actor.id} />
                  </>
                )}
              </span>
            </div>
            {note !== null && (
              <p className="small">
                <Data text={note} lines />
              </p>
            )}
            <details className="small muted">
              <summary>{`Audit row ${row.seq}`}</summary>
              <JsonView value={row.data} label={`Data of audit row ${row.seq}`} />
              <p className="mono">{row.hash}</p>
            </details>
          </li>
        );
      })}
    </ol>
  );
}
