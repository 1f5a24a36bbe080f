import { type ExportFormat, type ExportProgress, exportFormats } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../api/session.tsx";
import { nowMs } from "../browser/clock.ts";
import { Dialog } from "../parts/forms/dialog.tsx";
import { SelectField } from "../parts/forms/field.tsx";
import { useToasts } from "../parts/toasts.tsx";
import { type Period, periodOf } from "./periods.ts";
import { saveFile } from "./save-file.ts";

type Filters = { readonly from?: string; readonly to?: string };
type Following = Parameters<Client["exportDecisions"]>[1];

interface Exported<F extends Filters> {
  /** The rows in plain words, which is also the name of the file. */
  readonly what: string;
  /** The filters of the page. */
  readonly filters: F;
  /** True: the dialog names the command that writes the evidence of the period. */
  readonly evidence?: boolean;
  readonly run: (
    client: Client,
    query: F & { readonly format: ExportFormat },
    following: Following,
  ) => ReturnType<Client["exportDecisions"]>;
}

/** Opens the dialog that exports the rows of a list. */
export function ExportButton<F extends Filters>(exported: Exported<F>) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button small" onClick={() => setOpen(true)}>
        Export
      </button>
      {open && <ExportDialog {...exported} onClose={() => setOpen(false)} />}
    </>
  );
}

const formatTexts: Readonly<Record<ExportFormat, string>> = {
  csv: "CSV, for spreadsheets",
  jsonl: "JSON Lines, with everything",
  parquet: "Parquet, for data tools",
};

const formats = Object.keys(exportFormats) as ExportFormat[];

function ExportDialog<F extends Filters>({
  what,
  filters,
  evidence = false,
  run,
  onClose,
}: Exported<F> & { readonly onClose: () => void }) {
  const has_time = filters.from !== undefined || filters.to !== undefined;
  const [period, setPeriod] = useState<Period>(has_time ? "page" : "last_month");
  const [format, setFormat] = useState<ExportFormat>("csv");
  const file = useExport(exportOf({ what, filters, run }, period, format), onClose);
  const { from, to } = periodOf(period, filters, nowMs());
  return (
    <Dialog title={`Export ${what}`} onClose={onClose} onConfirm={file.start}>
      <p>The file has the rows that match the filters of this page, the newest first.</p>
      <SelectField
        label="Period"
        value={period}
        disabled={file.progress !== null}
        onChange={(event) => setPeriod(event.target.value as Period)}
        hint={`${from?.slice(0, 10) ?? "the first row"} to ${to?.slice(0, 10) ?? "now"}, UTC`}
        options={[
          ["last_month", "Last month"],
          ["this_month", "This month"],
          ["last_7_days", "Last 7 days"],
          ["page", has_time ? "As on the page" : "Everything"],
        ]}
      />
      <SelectField
        label="Format"
        value={format}
        disabled={file.progress !== null}
        onChange={(event) => setFormat(event.target.value as ExportFormat)}
        options={formats.map((name) => [name, formatTexts[name]] as const)}
      />
      {evidence && from !== undefined && <EvidenceHint from={from} {...(to === undefined ? {} : { to })} />}
      {file.progress !== null && (
        <p role="status">
          <progress aria-label="Exported" value={file.progress.done} max={1} />
          {` ${file.progress.rows.toLocaleString("en")} rows`}
        </p>
      )}
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button primary" disabled={file.progress !== null} onClick={file.start}>
          Download
        </button>
      </div>
    </Dialog>
  );
}

function EvidenceHint({ from, to }: Filters) {
  const times = [["--from", from] as const, ["--to", to] as const];
  const options = times.flatMap(([name, time]) => (time === undefined ? [] : [`${name} ${time.slice(0, 10)}`]));
  return (
    <p className="small muted">
      {"For an auditor, this command writes one archive with receipts, records and policies: "}
      <code>{["countersign evidence", ...options].join(" ")}</code>
    </p>
  );
}

interface FileExport {
  readonly name: string;
  readonly type: string;
  readonly run: (client: Client, following: Following) => ReturnType<Client["exportDecisions"]>;
}

function exportOf<F extends Filters>(
  { what, filters, run }: Exported<F>,
  period: Period,
  format: ExportFormat,
): FileExport {
  const { from: _, to: __, ...others } = filters;
  const times = periodOf(period, filters, nowMs());
  const name = [what.replaceAll(" ", "-"), times.from?.slice(0, 10)].filter((part) => part !== undefined).join("-");
  const query = { ...others, ...times, format } as F & { readonly format: ExportFormat };
  const { media_type } = exportFormats[format];
  return { name: `${name}.${format}`, type: media_type, run: (client, following) => run(client, query, following) };
}

/** Runs an export until its end, or until the dialog closes. An incomplete file is dropped. */
function useExport({ name, type, run }: FileExport, onDone: () => void) {
  const client = useClient();
  const toasts = useToasts();
  const stopping = useRef<AbortController | null>(null);
  const [progress, setProgress] = useState<ExportProgress | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async () => {
    if (stopping.current !== null) return;
    const controller = new AbortController();
    stopping.current = controller;
    setProgress({ rows: 0, done: 0 });
    const parts: Uint8Array[] = [];
    const on_part = (bytes: Uint8Array, now: ExportProgress) => {
      parts.push(bytes);
      setProgress(now);
    };
    try {
      const { rows } = await run(client, { on_part, signal: controller.signal });
      saveFile(name, type, parts);
      toasts.done(`${rows.toLocaleString("en")} rows exported`, name);
      onDone();
    } catch (error) {
      if (controller.signal.aborted) return;
      stopping.current = null;
      setProgress(null);
      toasts.failed(error);
    }
  };
  return { progress, start: () => void start() };
}
