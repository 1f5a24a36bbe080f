/** The table of API keys. */
import type { ApiKey } from "@countersign/contract";
import { nowMs } from "../../../browser/clock.ts";
import { FreezeButton } from "../../../freezes/freeze-button.tsx";
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

export function KeyTable({
  rows,
  own,
  onAsk,
}: {
  readonly rows: readonly ApiKey[];
  /** The id of the caller's own key; null: the caller uses no key. */
  readonly own: string | null;
  readonly onAsk: (asked: KeyEnd) => void;
}) {
  return (
    <ListTable heads={["Name", "Role", "Environment", "Made by", "Last used", "Ends", "State"]} actions>
      {rows.map((key) => {
        const state = stateOf(key);
        return (
          <tr key={key.key_id}>
            <td>
              <Data text={key.name ?? "unnamed"} />
              {key.key_id === own && <span className="small muted"> (yours)</span>}
              <div className="mono small muted">{key.key_id}</div>
            </td>
            <td>
              {key.role}
              {key.agent_id !== null && (
                <div className="small muted">
                  {"for "}
                  <Data text={key.agent_id} />
                </div>
              )}
            </td>
            <td>{key.environment}</td>
            <td>{key.created_by === null ? "–" : <Who id={key.created_by} />}</td>
            <td>{key.last_used_at === null ? "never" : <Time at={key.last_used_at} />}</td>
            <td>{key.revoked_at === null ? <Time at={key.expires_at} /> : "–"}</td>
            <td>
              <Badge text={state} tone={state === "active" ? "approve" : "plain"} />
            </td>
            <td>
              {state === "active" && (
                <span className="row">
                  {key.key_id === own && (
                    <button type="button" className="button small" onClick={() => onAsk({ act: "rotate", key })}>
                      Replace
                    </button>
                  )}
                  <FreezeButton target={{ kind: "key", id: key.key_id }} />
                  <button type="button" className="button small bad" onClick={() => onAsk({ act: "revoke", key })}>
                    Revoke
                  </button>
                </span>
              )}
            </td>
          </tr>
        );
      })}
    </ListTable>
  );
}
