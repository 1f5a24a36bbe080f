import type { Escalation } from "@countersign/contract";
import { useSession } from "../api/session.tsx";
import { atPointer } from "../parts/records/json-lines.ts";
import { JsonDiff } from "../parts/records/json-view.tsx";
import { Deed } from "../parts/records/wants.tsx";
import { Who } from "../parts/records/who.tsx";
import { Data, Given } from "../parts/tables/data.tsx";
import { Time } from "../parts/time.tsx";

export function CaseLine({ escalation: { agent_id, action } }: { readonly escalation: Escalation }) {
  return (
    <>
      <Given text={agent_id} chars_max={60} more={false} />
      {": "}
      <Deed action={action} />
    </>
  );
}

export type Changes = NonNullable<Escalation["votes"][number]["modifications"]>;

export function ChangesOf({ changes, content }: { readonly changes: Changes; readonly content: unknown }) {
  const before = changes.flatMap(({ op, path }) => (op === "add" ? [] : [[path, atPointer(content, path)]]));
  const after = changes.flatMap(({ op, path, value }) => (op === "remove" ? [] : [[path, value]]));
  return (
    <JsonDiff before={Object.fromEntries(before)} after={Object.fromEntries(after)} label="Changes by a reviewer" />
  );
}

const outcomes = { approve: "approved", approve_modified: "approved with changes", block: "blocked" } as const;
const ends = {
  decided: "Decided by ",
  cancelled: "The review was cancelled by ",
  timed_out: "Nobody decided in time.",
} as const;

/**
 * Shows how and by whom a review was closed; nothing while it is open. `meanwhile`: the reader is still deciding, and
 * does not see votes and comments.
 */
export function Ending({
  escalation: { status, resolution, withdrawn_by },
  meanwhile = false,
}: {
  readonly escalation: Escalation;
  readonly meanwhile?: boolean;
}) {
  const { caller } = useSession();
  if (status === "pending" || resolution === null) return null;
  return (
    <div className={meanwhile ? "banner warn" : "banner good"} role="status">
      <div>
        <strong>{`${meanwhile ? "This has ended meanwhile" : "Outcome"}: ${outcomes[resolution.outcome]}`}</strong>
        {withdrawn_by === undefined ? ends[status] : "The agent withdrew it: "}
        {resolution.by !== null && (resolution.by === caller?.person ? "you" : <Who id={resolution.by} />)}{" "}
        <Time at={resolution.at} />
        {resolution.comment !== null && (meanwhile || status === "cancelled") && (
          <p className="small">
            <Data text={resolution.comment} lines chars_max={1_000} />
          </p>
        )}
      </div>
    </div>
  );
}
