import { useMemo, useState } from "react";
import { Data } from "../tables/data.tsx";
import { useLeftOut } from "../tables/left-out.tsx";
import { changedLines, diffLines, type JsonLine, jsonLines } from "./json-lines.ts";

const page_lines = 200;
const tail_lines = 40;
const signs = { same: " ", added: "+", removed: "−" } as const;
const spoken = { same: null, added: "added: ", removed: "removed: " } as const;

/** `left_out`: characters of further lines, shown on demand. */
function Lines({
  lines,
  label,
  left_out = 0,
}: {
  readonly lines: readonly JsonLine[];
  readonly label: string;
  readonly left_out?: number;
}) {
  const [head_lines, setHeadLines] = useState(page_lines - tail_lines);
  const between = lines.slice(head_lines, Math.max(head_lines, lines.length - tail_lines));
  useLeftOut(left_out + charsOf(between));
  const tail_at = head_lines + between.length;
  return (
    <section aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get there */}
      <pre className="json" tabIndex={0}>
        {lines.slice(0, head_lines).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one document never change places
          <Line key={index} line={line} />
        ))}
        {between.length > 0 && (
          <button
            type="button"
            className="button small quiet"
            onClick={() => setHeadLines(head_lines + page_lines * 5)}
          >
            {`… ${between.length.toLocaleString("en")} more lines …`}
          </button>
        )}
        {lines.slice(tail_at).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one document never change places
          <Line key={tail_at + index} line={line} />
        ))}
      </pre>
    </section>
  );
}

function Line({ line }: { readonly line: JsonLine }) {
  return (
    <span className={`l ${line.sign}`}>
      {spoken[line.sign] !== null && <span className="sr">{spoken[line.sign]}</span>}
      <span className="sign" aria-hidden="true">
        {signs[line.sign]}
      </span>
      {"  ".repeat(line.depth)}
      {line.key !== null && (
        <>
          <span className="k">
            <Data text={JSON.stringify(line.key)} chars_max={300} more />
          </span>
          {": "}
        </>
      )}
      <Data text={line.text} chars_max={1_000} more />
    </span>
  );
}

function foldedLines(all: readonly JsonLine[]) {
  const changed = changedLines(all);
  const kept = new Set(changed);
  return { changed, left_out: charsOf(all.filter((line) => !kept.has(line))) };
}

function charsOf(lines: readonly JsonLine[]): number {
  return lines.reduce((sum, { key, text }) => sum + (key?.length ?? 0) + text.length, 0);
}

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const lines = useMemo(() => jsonLines(value), [value]);
  return <Lines lines={lines} label={label} />;
}

/** The difference of two documents. A long one shows only the changes until the reader asks for all. */
export function JsonDiff({
  before,
  after,
  label,
}: {
  readonly before: unknown;
  readonly after: unknown;
  readonly label: string;
}) {
  const all = useMemo(() => diffLines(before, after), [before, after]);
  return <FoldedLines all={all} label={label} />;
}

/** Lines of a difference. Many show only the changes until the reader asks for all. */
export function FoldedLines({ all, label }: { readonly all: readonly JsonLine[]; readonly label: string }) {
  const [whole, setWhole] = useState(false);
  const { changed, left_out } = useMemo(() => foldedLines(all), [all]);
  const folds = all.length > page_lines && !whole;
  return (
    <div className="stack tight">
      {folds ? <Lines lines={changed} label={label} left_out={left_out} /> : <Lines lines={all} label={label} />}
      {folds && (
        <button type="button" className="button small" onClick={() => setWhole(true)}>
          {`Show all ${all.length} lines, including unchanged ones`}
        </button>
      )}
    </div>
  );
}
