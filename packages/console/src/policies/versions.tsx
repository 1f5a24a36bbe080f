import type { Policy, PolicyVersion } from "@countersign/contract";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { Who } from "../parts/records/who.tsx";
import { Empty } from "../parts/states.tsx";
import { Paged, usePaged } from "../parts/tables/paged.tsx";
import { ExactTime } from "../parts/time.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { textOf } from "./document-text.ts";
import { TextDiff } from "./text-diff.tsx";

export function Versions({ policy }: { readonly policy: Policy }) {
  const client = useClient();
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
        {(rows) => (
          <div className="grid-2">
            <ul className="plain stack tight small">
              {rows.map((each) => (
                <Version key={each.version} version={each} policy={policy} />
              ))}
            </ul>
            <Changes rows={rows} />
          </div>
        )}
      </Paged>
    </section>
  );
}

function Version({ version, policy }: { readonly version: PolicyVersion; readonly policy: Policy }) {
  const may = useMay("admin");
  const restore = useRestore(policy);
  return (
    <li className="row">
      <strong>{`Version ${version.version}`}</strong>
      {version.version === policy.active_version && <span className="badge live">in force</span>}
      <ExactTime at={version.created_at} />
      <span className="muted">
        {"by "}
        <Who id={version.created_by} />
      </span>
      {may && policy.status !== "retired" && version.sha256 !== policy.sha256 && (
        <button
          type="button"
          className="button small"
          disabled={restore.isPending}
          onClick={() => restore.mutate(version)}
        >
          {`Restore version ${version.version}`}
        </button>
      )}
    </li>
  );
}

/** Saves an earlier document as the newest version, which decides nothing until somebody activates it. */
function useRestore({ policy_id }: Policy) {
  const client = useClient();
  const queries = useQueryClient();
  const toasts = useToasts();
  return useMutation({
    mutationFn: ({ document }: PolicyVersion) => client.replacePolicy(policy_id, { policy: document }),
    onSuccess: ({ diagnostics: _, ...after }, { version }) => {
      queries.setQueryData(["policies", "one", policy_id], after);
      toasts.done(
        `Version ${version} is back as version ${after.version}`,
        "It decides nothing until you activate it.",
      );
    },
    onError: toasts.failed,
    onSettled: () => void queries.invalidateQueries({ queryKey: ["policies"] }),
  });
}

function Changes({ rows }: { readonly rows: readonly PolicyVersion[] }) {
  const [from, setFrom] = useState<number | null>(null);
  const [to, setTo] = useState<number | null>(null);
  const after = rows.find(({ version }) => version === to) ?? rows[0];
  const before = rows.find(({ version }) => version === from) ?? rows[1];
  if (before === undefined || after === undefined) return null;
  const options = rows.map(({ version }) => [String(version), `Version ${version}`] as const);
  return (
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
      <TextDiff
        before={textOf(before.document)}
        after={textOf(after.document)}
        label={`Changes from version ${before.version} to version ${after.version}`}
      />
    </div>
  );
}
