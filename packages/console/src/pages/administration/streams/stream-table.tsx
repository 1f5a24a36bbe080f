import type { Stream } from "@countersign/contract";
import { useMay } from "../../../api/session.tsx";
import { MoreMenu } from "../../../parts/forms/more-menu.tsx";
import { Badge } from "../../../parts/records/badge.tsx";
import { Who } from "../../../parts/records/who.tsx";
import { Data } from "../../../parts/tables/data.tsx";
import { ListTable } from "../../../parts/tables/list-table.tsx";
import { Time } from "../../../parts/time.tsx";
import type { StreamChanges } from "./use-stream-changes.ts";

interface Acts {
  readonly changes: StreamChanges;
  readonly onRemove: (stream: Stream) => void;
}

export function StreamTable({ streams, ...acts }: Acts & { readonly streams: readonly Stream[] }) {
  const may = useMay("admin");
  return (
    <ListTable
      heads={["Stream", "Store", "State", "Behind", "Last object"]}
      actions={may}
      caption="Streams with their lag"
    >
      {streams.map((stream) => (
        <tr key={stream.stream_id}>
          <td>
            <Name stream={stream} />
          </td>
          <td>
            <Data text={placeOf(stream)} />
          </td>
          <td>
            <State stream={stream} />
          </td>
          <td className="nowrap">
            {lagOf(stream.lag_seconds)}
            <div className="small muted">{`${stream.lag_entries.toLocaleString("en")} entries`}</div>
          </td>
          <td>{stream.written_at === null ? "none yet" : <Time at={stream.written_at} />}</td>
          {may && (
            <td>
              <Buttons stream={stream} {...acts} />
            </td>
          )}
        </tr>
      ))}
    </ListTable>
  );
}

function Name({ stream: { name, format, created_at, created_by } }: { readonly stream: Stream }) {
  return (
    <>
      <Data text={name} />
      <div className="small muted">
        {`${format === "ocsf" ? "OCSF" : "JSON Lines"}, made `}
        <Time at={created_at} />
        {created_by !== null && (
          <>
            {" by "}
            <Who id={created_by} />
          </>
        )}
      </div>
    </>
  );
}

function placeOf({ target, stream_id }: Stream): string {
  if (target.kind === "file") return `Files below …/${stream_id}`;
  return [target.endpoint, target.bucket, target.prefix].filter((part) => part !== "").join("/");
}

function State({ stream: { active, problem, failing_since } }: { readonly stream: Stream }) {
  if (!active) return <Badge text="off" tone="plain" />;
  if (problem === null) return <Badge text="on" tone="approve" />;
  return (
    <>
      <Badge text="failing" tone="block" />
      <div className="small wrong">
        <Data text={problem} />
        {failing_since !== null && (
          <>
            {" Since "}
            <Time at={failing_since} />
          </>
        )}
      </div>
    </>
  );
}

function lagOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600).toLocaleString("en")} h`;
}

function Buttons({ stream, changes: { test, toggle }, onRemove }: Acts & { readonly stream: Stream }) {
  return (
    <span className="row">
      <button type="button" className="button small" disabled={test.isPending} onClick={() => test.mutate(stream)}>
        Write a test
      </button>
      <MoreMenu>
        <button
          type="button"
          className="button small"
          disabled={toggle.isPending}
          onClick={() => toggle.mutate(stream)}
        >
          {stream.active ? "Switch off" : "Switch on"}
        </button>
        <button type="button" className="button small bad" onClick={() => onRemove(stream)}>
          Remove
        </button>
      </MoreMenu>
    </span>
  );
}
