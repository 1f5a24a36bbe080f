import { type Reviewer, roleMeets } from "@countersign/contract";
import { useState } from "react";
import { SelectField, TextField } from "../parts/forms/field.tsx";
import { personText, useEverybody } from "../parts/records/who.tsx";
import { Loaded } from "../parts/states.tsx";
import { Data } from "../parts/tables/data.tsx";

export const everyReviewer: readonly Reviewer[] = [{ type: "role", id: "reviewer" }];

/** `onChoose` gets the choice after each change; empty if no person and no key is named. */
export function WhoDecides({ onChoose }: { readonly onChoose: (reviewers: readonly Reviewer[]) => void }) {
  const [role, setRole] = useState("reviewer");
  const [people, setPeople] = useState<ReadonlySet<string>>(new Set());
  const [keys, setKeys] = useState("");
  const certain = (chosen: ReadonlySet<string>, ids: string): Reviewer[] =>
    [...chosen, ...ids.split(/[\s,]+/).filter((id) => id !== "")].map((id) => ({ type: "user", id }));
  const toggle = (user_id: string) => {
    const chosen = new Set(people);
    if (!chosen.delete(user_id)) chosen.add(user_id);
    setPeople(chosen);
    onChoose(certain(chosen, keys));
  };
  return (
    <>
      <SelectField
        label="Who decides"
        value={role}
        onChange={({ target: { value } }) => {
          setRole(value);
          onChoose(value === "certain" ? certain(people, keys) : [{ type: "role", id: value }]);
        }}
        options={[
          ["reviewer", "Every reviewer"],
          ["operator", "Operators"],
          ["admin", "Admins"],
          ["certain", "Certain people"],
        ]}
      />
      {role === "certain" && (
        <>
          <People chosen={people} onToggle={toggle} />
          <TextField
            label="API keys, by id (optional)"
            hint="key_…, separated by commas"
            value={keys}
            onChange={({ target: { value } }) => {
              setKeys(value);
              onChoose(certain(people, value));
            }}
          />
        </>
      )}
    </>
  );
}

function People({
  chosen,
  onToggle,
}: {
  readonly chosen: ReadonlySet<string>;
  readonly onToggle: (user_id: string) => void;
}) {
  const query = useEverybody(true, true);
  return (
    <fieldset className="stack tight">
      <legend>People</legend>
      <Loaded query={query} what="the people">
        {(everybody) => {
          const able = [...everybody.values()].filter(({ role }) => roleMeets(role, ["reviewer"]));
          if (able.length === 0) return <p className="small">Nobody here may decide: invite someone first.</p>;
          return able.map((user) => (
            <label key={user.user_id} className="check small">
              <input type="checkbox" checked={chosen.has(user.user_id)} onChange={() => onToggle(user.user_id)} />
              <span>
                <Data text={personText(user)} /> <span className="muted">{user.role}</span>
              </span>
            </label>
          ));
        }}
      </Loaded>
    </fieldset>
  );
}
