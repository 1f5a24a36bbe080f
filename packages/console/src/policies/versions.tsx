import type { Policy } from "@countersign/contract";
import { useState } from "react";
import { useClient } from "../api/session.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { JsonDiff } from "../parts/records/json-view.tsx";
import { Who } from "../parts/records/who.tsx";
import { Empty } from "../parts/states.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { ExactTime } from "../parts/time.tsx";

export function Versions({ policy }: { readonly policy: Policy }) {
  const client = useClient();
  const [from, setFrom] = useState<number | null>(null);
  const [to, setTo] = useState<number | null>(null);
  const list = usePaged(
    ["policies", "versions", policy.policy_id, policy.version],
    async (cursor) => {
      const page = await client.listPolicyVersions(policy.policy_id, cursor === undefined ? {} : { cursor });
      return { rows: page.versions, next_cursor: page.next_cursor };
    },
    { joins: true },
  );
  return (
    <section className="card stack tight" aria-label="Versions">
      <h2>Versions</h2>
      <Paged list={list} what="versions" empty={<Empty title="No versions" />}>
        {(rows) => {
          const newest = rows[0];
          const after = rows.find(({ version }) => version === to) ?? newest;
          const before = rows.find(({ version }) => version === from) ?? rows[1];
          const options = rows.map(({ version }) => [String(version), `Version ${version}`] as const);
          return (
            <>
              <ul className="plain stack tight small">
                {rows.map((each) => (
                  <li key={each.version} className="row">
                    <strong>{`Version ${each.version}`}</strong>
                    {each.version === policy.active_version && <span className="badge live">in force</span>}
                    <ExactTime at={each.created_at} />
                    <span className="muted">
                      {"by "}
                      <Who id={each.created_by} />
                    </span>
                  </li>
                ))}
              </ul>
              {before !== undefined && after !== undefined && (
                <div className="stack tight">
                  <div className="filters">
                    <SelectField
                      label="Changes from"
                      value={String(before.version)}
                      onChange={(event) => setFrom(Number(event.target.value))}
                      options={options}
                    />
                    <SelectField
                      label="to"
                      value={String(after.version)}
                      onChange={(event) => setTo(Number(event.target.value))}
                      options={options}
                    />
                  </div>
                  <JsonDiff
                    before={before.document}
                    after={after.document}
                    label={`Changes from version ${before.version} to version ${after.version}`}
                  />
                </div>
              )}
            </>
          );
        }}
      </Paged>
    </section>
  );
}
