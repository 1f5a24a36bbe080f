import type { ApiKey, KeyBindings } from "@countersign/contract";
import { nowMs } from "../../../browser/clock.ts";
import { FreezeButton } from "../../../freezes/freeze-button.tsx";
import { warningTexts } from "../../../parts/key-warning-texts.ts";
import { Badge } from "../../../parts/records/badge.tsx";
import { Who } from "../../../parts/records/who.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { KeyEnd } from "./key-end.tsx";

function stateOf(key: ApiKey): "active" | "revoked" | "expired" {
  if (key.revoked_at !== null) return "revoked";
  return Date.parse(key.expires_at) <= nowMs() ? "expired" : "active";
}

function BoundTo({ bindings }: Pick<ApiKey, "bindings">) {
  if (bindings === null) return "–";
  return (
    <div className="small">
      {boundParts(bindings).map((part) => (
        <div key={part}>
          <Data text={part} />
        </div>
      ))}
    </div>
  );
}

function boundParts({ agent_ids, membrane_ids, source_cidrs, forbid_shadow }: KeyBindings): string[] {
  const listed = (names: readonly string[]) => (names.length > 3 ? `${names.length} of them` : names.join(", "));
  return [
    ...(agent_ids === null ? [] : [`agents: ${listed(agent_ids)}`]),
    ...(membrane_ids === null ? [] : [`membranes: ${membrane_ids.length}`]),
    ...(source_cidrs === null ? [] : [`networks: ${listed(source_cidrs)}`]),
    ...(forbid_shadow ? ["no shadow mode"] : []),
  ];
}

interface Asking {
  /** The id of the caller's own key; null: the caller uses no key. */
  readonly own: string | null;
  readonly onAsk: (asked: KeyEnd) => void;
  readonly onBind: (key: ApiKey) => void;
  /** An agent uses this admin key and needs its own. */
  readonly onReplace: (key: ApiKey) => void;
}

export function KeyTable({ rows, own, ...asking }: Asking & { readonly rows: readonly ApiKey[] }) {
  return (
    <ListTable heads={["Name", "Role", "Bound to", "Created by", "Last used", "Expires", "State"]} actions>
      {rows.map((key) => {
        const state = stateOf(key);
        return (
          <tr key={key.key_id}>
            <td>
              <Data text={key.name ?? "unnamed"} />
              {key.key_id === own && <span className="small muted"> (yours)</span>}
              <div className="mono small muted">{key.key_id}</div>
              {key.warnings.map((warning) => (
                <div key={warning} className="small wrong">
                  {warningTexts[warning]}
                </div>
              ))}
            </td>
            <td>
              {key.role}
              {key.environment !== "live" && <div className="small muted">{`only ${key.environment}`}</div>}
              {key.agent_id !== null && (
                <div className="small muted">
                  {"for "}
                  <Data text={key.agent_id} />
                </div>
              )}
            </td>
            <td>
              <BoundTo bindings={key.bindings} />
            </td>
            <td>{key.created_by === null ? "–" : <Who id={key.created_by} />}</td>
            <td>{key.last_used_at === null ? "never" : <Time at={key.last_used_at} />}</td>
            <td>{key.revoked_at === null ? <Time at={key.expires_at} /> : "–"}</td>
            <td>
              <Badge text={state} tone={state === "active" ? "approve" : "plain"} />
            </td>
            <td>{state === "active" && <KeyActions record={key} {...asking} />}</td>
          </tr>
        );
      })}
    </ListTable>
  );
}

function KeyActions({ record: key, onAsk, onBind, onReplace }: Omit<Asking, "own"> & { readonly record: ApiKey }) {
  return (
    <span className="row unbroken">
      <button type="button" className="button small" onClick={() => onAsk({ act: "rotate", key })}>
        Replace
      </button>
      <button
        type="button"
        className={`button small ${key.warnings.includes("unbound") ? "primary" : ""}`}
        onClick={() => onBind(key)}
      >
        Bind
      </button>
      {key.warnings.includes("admin_submits") && (
        <button type="button" className="button small primary" onClick={() => onReplace(key)}>
          Make an agent key
        </button>
      )}
      <FreezeButton target={{ kind: "key", id: key.key_id }} />
      <button type="button" className="button small bad" onClick={() => onAsk({ act: "revoke", key })}>
        Revoke
      </button>
    </span>
  );
}
