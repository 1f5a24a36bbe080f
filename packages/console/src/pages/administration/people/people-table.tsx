import { type PersonRole, roleMeets, type User } from "@countersign/contract";
import { useState } from "react";
import { AbsenceForm, AbsenceLine } from "../../../account/absence.tsx";
import { useMay, useSession } from "../../../api/session.tsx";
import { Dialog } from "../../../parts/forms/dialog.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PersonChange } from "./person-change.tsx";
import { roles } from "./roles.ts";

export function PeopleTable({
  rows,
  onAsk,
}: {
  readonly rows: readonly User[];
  readonly onAsk: (change: PersonChange) => void;
}) {
  const { caller } = useSession();
  const may = useMay("admin");
  const [away, setAway] = useState<User | null>(null);
  return (
    <>
      {away !== null && (
        <Dialog title={`Absence of ${away.email}`} onClose={() => setAway(null)}>
          <AbsenceForm user_id={away.user_id} onDone={() => setAway(null)} />
        </Dialog>
      )}
      <ListTable heads={["Person", "Role", "Second factor", "Last seen"]} actions>
        {rows.map((user) => (
          <tr key={user.user_id}>
            <td>
              <Data text={user.name ?? user.email} />
              {user.user_id === caller?.id && <span className="small muted"> (you)</span>}
              {user.name !== null && (
                <div className="small muted">
                  <Data text={user.email} />
                </div>
              )}
              <div className="mono small muted">{user.user_id}</div>
              <AbsenceLine absence={user.absence} />
            </td>
            <td>{may ? <RoleField user={user} onChoose={(role) => onAsk({ user, role })} /> : user.role}</td>
            <td>
              <Badge text={user.mfa_enabled ? "on" : "off"} tone={user.mfa_enabled ? "approve" : "plain"} />
            </td>
            <td>{user.last_seen_at === null ? "never" : <Time at={user.last_seen_at} />}</td>
            <td className="nowrap">
              {may && roleMeets(user.role, ["reviewer"]) && (
                <button type="button" className="button small" onClick={() => setAway(user)}>
                  Absence
                </button>
              )}{" "}
              {may && (
                <button type="button" className="button small bad" onClick={() => onAsk({ user, role: null })}>
                  Remove
                </button>
              )}
            </td>
          </tr>
        ))}
      </ListTable>
    </>
  );
}

function RoleField({ user, onChoose }: { readonly user: User; readonly onChoose: (role: PersonRole) => void }) {
  const choices = [...new Set<PersonRole>([...roles.map(([role]) => role), user.role])];
  return (
    <select
      aria-label={`Role of ${user.email}`}
      value={user.role}
      onChange={(event) => onChoose(event.target.value as PersonRole)}
    >
      {choices.map((role) => (
        <option key={role} value={role}>
          {role}
        </option>
      ))}
    </select>
  );
}
